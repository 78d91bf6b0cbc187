-- Up Migration

-- Sessions of the console can be listed, with the place where each began. Those that an identity provider authenticated
-- contain who the person is and may do: such a person is not in the table of users.
alter table console_sessions
  add column address text not null default '',
  add column agent text not null default '',
  add column issuer text,
  add column subject text,
  add column username text,
  add column role text;

-- Sign-ins with the identity provider that have succeeded, until they would have expired: each succeeds once.
create table console_sign_ins (
  state_hash bytea primary key,
  finished_at timestamptz not null default clock_timestamp()
);
create index console_sign_ins_by_age on console_sign_ins (finished_at);

-- The issuer that authenticated the person who proposed; null for a user with a password. A second person must come
-- from the same directory, because two directories may contain one person twice.
alter table review_resolutions add column proposed_by_issuer text;

-- Down Migration

alter table review_resolutions drop column proposed_by_issuer;
drop table console_sign_ins;
-- The previous version would look for these people in the table of users.
delete from console_sessions where issuer is not null;
alter table console_sessions drop column role, drop column username, drop column subject, drop column issuer,
  drop column agent, drop column address;
