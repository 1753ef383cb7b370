// Policies of groups: the names apps use, and the numbers the wasm side takes.

import * as check from "./check.js";
import { GroupPermissionsOptions, MetadataField, PermissionPolicy, PermissionUpdateType } from "./enums.js";
import { DovetailError } from "./errors.js";
import { RawAction, type RawCreateGroup } from "./raw.js";
import type { GroupPermissions, PermissionPolicySet } from "./types.js";

/** The policy of each action, in the order of {@link RawAction}. */
const POLICIES: readonly (keyof PermissionPolicySet)[] = [
  "addMemberPolicy",
  "removeMemberPolicy",
  "addAdminPolicy",
  "removeAdminPolicy",
  "updateGroupNamePolicy",
  "updateGroupDescriptionPolicy",
  "updateGroupImageUrlSquarePolicy",
  "updateMessageDisappearingPolicy",
  "updateAppDataPolicy",
];

/** Each field's name in `GroupUpdated`, and the action its policy is of. */
const FIELDS: Readonly<Record<MetadataField, readonly [name: string, action: RawAction]>> = {
  [MetadataField.AppData]: ["app_data", RawAction.AppData],
  [MetadataField.Description]: ["description", RawAction.Description],
  [MetadataField.GroupName]: ["group_name", RawAction.Name],
  [MetadataField.GroupImageUrlSquare]: ["group_image_url_square", RawAction.ImageUrl],
  [MetadataField.MessageExpirationFromNs]: ["message_disappear_from_ns", RawAction.Disappearing],
  [MetadataField.MessageExpirationInNs]: ["message_disappear_in_ns", RawAction.Disappearing],
};

const ACTIONS: Readonly<Record<Exclude<PermissionUpdateType, PermissionUpdateType.UpdateMetadata>, RawAction>> = {
  [PermissionUpdateType.AddMember]: RawAction.AddMember,
  [PermissionUpdateType.RemoveMember]: RawAction.RemoveMember,
  [PermissionUpdateType.AddAdmin]: RawAction.AddAdmin,
  [PermissionUpdateType.RemoveAdmin]: RawAction.RemoveAdmin,
};

const field = check.member<MetadataField>(MetadataField);
const updateType = check.member<PermissionUpdateType>(PermissionUpdateType);
const option = check.member<GroupPermissionsOptions>(GroupPermissionsOptions);

/** A policy that can be set. @internal */
export function policy(value: unknown, name: string): PermissionPolicy {
  const given = check.member<PermissionPolicy>(PermissionPolicy)(value, name);
  if (given === PermissionPolicy.DoesNotExist || given === PermissionPolicy.Other) {
    throw new DovetailError("input.value", `${name}: ${PermissionPolicy[given]} can be read and not set`);
  }
  return given;
}

/** The action that a change of policy is about. @internal */
export function action(type: unknown, metadataField: unknown): RawAction {
  const kind = updateType(type, "permissionType");
  return kind === PermissionUpdateType.UpdateMetadata ? FIELDS[field(metadataField, "metadataField")][1] : ACTIONS[kind];
}

/** The policies of a new group. @internal */
export function rawPolicies(given: unknown, custom: unknown): Pick<RawCreateGroup, "permissions" | "policies"> {
  const permissions = check.optional(given, "permissions", option) ?? GroupPermissionsOptions.Default;
  const set = check.optional(custom, "customPermissionPolicySet", check.object);
  if ((permissions === GroupPermissionsOptions.CustomPolicy) !== (set !== undefined)) {
    throw new DovetailError("input.value", "customPermissionPolicySet goes with CustomPolicy, and with nothing else");
  }
  if (!set) return { permissions };
  return { permissions, policies: POLICIES.map((name) => policy(set[name], `customPermissionPolicySet.${name}`)) };
}

/** Policies as they are read. @internal */
export function permissionsOf([policyType, ...policies]: [GroupPermissionsOptions, ...PermissionPolicy[]]): GroupPermissions {
  const entries = POLICIES.map((name, at) => [name, policies[at]]);
  return { policyType, policySet: Object.fromEntries(entries) as PermissionPolicySet };
}

/** What a setting is called in the changes that `GroupUpdated` lists. */
export const metadataFieldName = async (metadataField: MetadataField): Promise<string> =>
  FIELDS[field(metadataField, "metadataField")][0];
