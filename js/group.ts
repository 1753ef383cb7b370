// Handles of groups: settings, members, roles, permissions.

import * as check from "./check.js";
import { Conversation } from "./conversation.js";
import type { Core } from "./core.js";
import { MetadataField, type PermissionPolicy, type PermissionUpdateType } from "./enums.js";
import { inboxesOf } from "./inboxes.js";
import { action, permissionsOf, policy } from "./permissions.js";
import { RAW_FLOOR, type RawConversation } from "./raw.js";
import type { AddMembersResult, GroupPermissions, Identifier } from "./types.js";

const texts = check.list(check.string);

const inboxes = (list: string | undefined): string[] => list?.split(" ") ?? [];

/**
 * A conversation of any number of inboxes.
 *
 * A change first catches up with the group, so it is judged by the rules as they are now. It
 * resolves when it is applied, and leaves nothing behind when it rejects, except where the message
 * says that it goes on by itself. Getters show what the last change, `sync()` or reading call of
 * this handle found.
 */
export class Group<ContentTypes = unknown> extends Conversation<ContentTypes> {
  #shown: RawConversation;

  /** @internal */
  constructor(core: Core, view: RawConversation) {
    super(core, view);
    this.#shown = view;
  }

  /** Empty unless set, like the other texts. */
  get name(): string {
    return this.#shown.name ?? "";
  }

  get description(): string {
    return this.#shown.description ?? "";
  }

  get imageUrl(): string {
    return this.#shown.imageUrl ?? "";
  }

  /** What the app keeps here. */
  get appData(): string {
    return this.#shown.appData ?? "";
  }

  /** The lowest version of this package's protocol that may take part. */
  get minimumVersion(): string {
    return this.#shown.floor ?? "";
  }

  /** Inbox ids of the admins. A super admin need not be one. */
  get admins(): string[] {
    return inboxes(this.#shown.admins);
  }

  /** Inbox ids of the super admins; at first the creator. */
  get superAdmins(): string[] {
    return inboxes(this.#shown.superAdmins);
  }

  /** At most 100 bytes of UTF-8. */
  updateName(name: string): Promise<void> {
    return this.#set(MetadataField.GroupName, name, "name");
  }

  /** At most 1000 bytes. */
  updateDescription(description: string): Promise<void> {
    return this.#set(MetadataField.Description, description, "description");
  }

  /** At most 2048 bytes. */
  updateImageUrl(imageUrl: string): Promise<void> {
    return this.#set(MetadataField.GroupImageUrlSquare, imageUrl, "imageUrl");
  }

  /** At most 8192 bytes. */
  updateAppData(appData: string): Promise<void> {
    return this.#set(MetadataField.AppData, appData, "appData");
  }

  /** Shuts out older versions, for good: it only ever rises, and not above the own version. */
  updateMinimumVersion(version: string): Promise<void> {
    return this.#set(RAW_FLOOR, version, "version");
  }

  /**
   * Adds inboxes. Resolves once every Welcome is published, with whom it could not bring in;
   * rejects if that is everybody, or if one of them does not exist.
   */
  async addMembers(inboxIds: string[]): Promise<AddMembersResult> {
    return (await this.change("add", texts(inboxIds, "inboxIds"))) ?? { failedInstallations: [], notAdded: [] };
  }

  /** Adds the inboxes of accounts; see {@link addMembers}. */
  async addMembersByIdentifiers(identifiers: Identifier[]): Promise<AddMembersResult> {
    return this.addMembers(await inboxesOf(this.core, identifiers));
  }

  /** Removes inboxes; those that are no members are passed over. */
  async removeMembers(inboxIds: string[]): Promise<void> {
    await this.change("remove", texts(inboxIds, "inboxIds"));
  }

  async removeMembersByIdentifiers(identifiers: Identifier[]): Promise<void> {
    return this.removeMembers(await inboxesOf(this.core, identifiers));
  }

  async listAdmins(): Promise<string[]> {
    await this.current();
    return this.admins;
  }

  async listSuperAdmins(): Promise<string[]> {
    await this.current();
    return this.superAdmins;
  }

  async isAdmin(inboxId: string): Promise<boolean> {
    const wanted = check.string(inboxId, "inboxId");
    return (await this.listAdmins()).includes(wanted);
  }

  async isSuperAdmin(inboxId: string): Promise<boolean> {
    const wanted = check.string(inboxId, "inboxId");
    return (await this.listSuperAdmins()).includes(wanted);
  }

  addAdmin(inboxId: string): Promise<void> {
    return this.#role("admin", inboxId, true);
  }

  removeAdmin(inboxId: string): Promise<void> {
    return this.#role("admin", inboxId, false);
  }

  addSuperAdmin(inboxId: string): Promise<void> {
    return this.#role("superAdmin", inboxId, true);
  }

  /** The last one keeps the role. */
  removeSuperAdmin(inboxId: string): Promise<void> {
    return this.#role("superAdmin", inboxId, false);
  }

  /** Who may do what. */
  async permissions(): Promise<GroupPermissions> {
    return permissionsOf(await this.core.call((raw) => raw.permissions(this.id)));
  }

  /**
   * Sets who may do something.
   *
   * @param metadataField Which setting, with `PermissionUpdateType.UpdateMetadata`.
   */
  async updatePermission(
    permissionType: PermissionUpdateType,
    permissionPolicy: PermissionPolicy,
    metadataField?: MetadataField,
  ): Promise<void> {
    const what = action(permissionType, metadataField);
    await this.change("policy", what, policy(permissionPolicy, "policy"));
  }

  /**
   * Asks to be removed. A super admin's client does so by itself once it is online; until then the
   * own inbox is a member. Asking again meanwhile sends nothing.
   */
  async requestRemoval(): Promise<void> {
    await this.change("leave");
  }

  /** Whether the own inbox asked to be removed and still is a member. */
  async isPendingRemoval(): Promise<boolean> {
    return inboxes((await this.current()).leaving).includes(this.core.inboxId);
  }

  override async sync(): Promise<void> {
    await super.sync();
    await this.current();
  }

  /** @internal */
  protected override async current(): Promise<RawConversation> {
    return (this.#shown = await super.current());
  }

  async #set(setting: MetadataField | typeof RAW_FLOOR, value: string, name: string): Promise<void> {
    await this.change("setting", setting, check.string(value, name));
  }

  async #role(role: "admin" | "superAdmin", inboxId: string, given: boolean): Promise<void> {
    await this.change(role, check.string(inboxId, "inboxId"), given);
  }
}
