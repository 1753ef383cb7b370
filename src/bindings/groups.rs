//! `RawClient`: groups, their settings, members, roles and policies.

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::client::RawClient;
use super::conversation::view;
use super::options::{Arg, group_id};
use super::values::{self, Fields};
use crate::base::InboxId;
use crate::client::{NewGroup, Role, Setting};
use crate::engine::receive::paused_for;
use crate::engine::settings::{
    ACTIONS, ADMINS_ONLY, ALL_MEMBERS, Base, Row, Settings, Shown, custom, policy,
};
use crate::error::Error;
use crate::store::rows::{GroupRow, LeftOut, Wish};

/// `PermissionPolicy`, as far as it can be set.
const BASES: [Base; 4] = [Base::Allow, Base::Deny, Base::IfAdmin, Base::IfSuperAdmin];

/// What `RawConversation` shows of a group's settings: texts that are there, lists of inboxes as
/// ids with spaces between them.
pub fn details(row: &GroupRow) -> Vec<(&'static str, String)> {
    let settings = &row.settings;
    let number = |number: i64| if number == 0 { String::new() } else { number.to_string() };
    let list = |inboxes: &[InboxId]| inboxes.iter().map(InboxId::to_string).collect::<Vec<_>>().join(" ");
    let mut details = vec![
        ("pausedForVersion", row.hold.as_ref().and_then(paused_for).unwrap_or_default().to_owned()),
        ("name", settings.name.clone()),
        ("description", settings.description.clone()),
        ("imageUrl", settings.image_url.clone()),
        ("appData", settings.app_data.clone()),
        ("floor", settings.floor.clone()),
        ("disappearFromNs", number(settings.disappear_from_ns)),
        ("disappearInNs", number(settings.disappear_in_ns)),
        ("admins", list(&settings.admins)),
        ("superAdmins", list(&settings.super_admins)),
        ("leaving", list(&row.leaving)),
    ];
    details.retain(|(_, text)| !text.is_empty());
    details
}

/// `RawCreateGroup`.
fn new_group(options: &Arg) -> Result<NewGroup, Error> {
    let from = options.may("disappearFromNs", Arg::integer)?;
    let after = options.may("disappearInNs", Arg::integer)?;
    Ok(NewGroup {
        members: options.field("members")?.list(Arg::id)?,
        policies: policies(options)?,
        settings: Settings {
            name: options.may("name", Arg::text)?,
            description: options.may("description", Arg::text)?,
            image_url: options.may("imageUrl", Arg::text)?,
            app_data: options.may("appData", Arg::text)?,
            disappearing: from.zip(after),
        },
    })
}

fn policies(options: &Arg) -> Result<Vec<Row>, Error> {
    let Some(bases) = options.may("policies", |arg| arg.list(|one| one.choice(&BASES)))? else {
        return Ok(options.field("permissions")?.choice(&[ALL_MEMBERS, ADMINS_ONLY])?.to_vec());
    };
    Ok(custom(&ACTIONS.into_iter().zip(bases).collect::<Vec<_>>()))
}

/// The changes of the dictionary among `RawChange`.
fn wishes(what: &str, about: Arg, value: Arg) -> Result<Vec<Wish>, Error> {
    Ok(match what {
        "setting" => vec![setting(about, value)?.wish()],
        "policy" => policy(about.choice(&ACTIONS)?, value.choice(&BASES)?),
        "admin" => vec![Role::Admin.wish(about.id()?, value.flag()?)],
        _ => vec![Role::SuperAdmin.wish(about.id()?, value.flag()?)],
    })
}

/// A setting by its number: `MetadataField`, and the floor behind.
fn setting(number: Arg, value: Arg) -> Result<Setting, Error> {
    match number.number()? {
        0 => value.text().map(Setting::AppData),
        1 => value.text().map(Setting::Description),
        2 => value.text().map(Setting::Name),
        3 => value.text().map(Setting::ImageUrl),
        4 => value.integer().map(Setting::DisappearFrom),
        5 => value.integer().map(Setting::DisappearIn),
        _ => value.text().map(Setting::Floor),
    }
}

/// `PermissionPolicy`.
fn shown(shown: Shown) -> usize {
    match shown {
        Shown::Base(base) => BASES.iter().position(|one| *one == base).unwrap_or(5),
        Shown::Absent => 4,
        Shown::Other => 5,
    }
}

/// `AddMembersResult`.
fn left_out(left_out: &LeftOut) -> JsValue {
    let installations = left_out.installations.iter().map(|id| id.to_string().into());
    let inboxes = left_out.inboxes.iter().map(|id| id.to_string().into());
    Fields::new()
        .value("failedInstallations", &values::list(installations))
        .value("notAdded", &values::list(inboxes))
        .done()
}

#[wasm_bindgen]
impl RawClient {
    /// Resolves when durable, online or not; adding the members goes on in the background.
    #[wasm_bindgen(js_name = createGroup)]
    pub fn create_group(&self, options: JsValue) -> Promise {
        self.call(async |handle| {
            let new = new_group(&Arg::new(options, "options"))?;
            view(&handle.client, handle.client.create_group(new).await?).await
        })
    }

    /// Makes one change, named by `what`; see `RawChange`.
    #[wasm_bindgen(js_name = changeGroup)]
    pub fn change_group(&self, id: JsValue, what: JsValue, about: JsValue, value: JsValue) -> Promise {
        self.call(async |handle| {
            let client = handle.client;
            let group = group_id(id)?;
            let (about, value) = (Arg::new(about, "about"), Arg::new(value, "value"));
            match Arg::new(what, "what").text()?.as_str() {
                "add" => return Ok(left_out(&client.add_members(group, &about.list(Arg::id)?).await?)),
                "remove" => client.remove_members(group, &about.list(Arg::id)?).await?,
                "leave" => client.request_removal(group).await?,
                other => client.change(group, wishes(other, about, value)?).await?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// The set of policies, then the policy of each action in order.
    pub fn permissions(&self, id: JsValue) -> Promise {
        self.call(async |handle| {
            let read = handle.client.policies(group_id(id)?).await?;
            let numbers = std::iter::once(read.preset as usize).chain(read.actions.into_iter().map(shown));
            Ok(values::list(numbers.map(|number| (number as u32).into())))
        })
    }
}
