-- Up Migration

-- A portal user belongs to an acquirer, an integrator or a merchant, and sees what belongs to it. Login names no
-- acquirer, so usernames are unique across the installation, regardless of case.
alter table users
  alter column merchant_id drop not null,
  add column integrator_id integer,
  add column permissions text[] not null default '{}',
  add column password_changed_at timestamptz not null default now(),
  add column last_login_at timestamptz,
  add foreign key (acquirer_id, integrator_id) references integrators,
  add check (merchant_id is null or integrator_id is null);
create unique index users_by_login on users (lower(username));

-- A session ends when the password that it began with is changed.
create function note_password_change() returns trigger language plpgsql as $$
begin
  new.password_changed_at := now();
  return new;
end $$;
create trigger users_password_change before update of password_hash on users
  for each row when (old.password_hash is distinct from new.password_hash) execute function note_password_change();

alter table merchants add column if not exists is_blocked boolean not null default false;

-- An issuer's keys: single keys as PEM, or the URL of a JWKS. A key that is registered without a kid is tried for any
-- kid. All keys of an issuer belong to one owner (store/settings/issuer-key-settings.ts ensures it).
alter table issuer_keys drop constraint issuer_keys_pkey;
alter table issuer_keys
  add column jwks_url text check (length(jwks_url) <= 2048),
  alter column public_key drop not null,
  alter column kid drop not null,
  add unique (issuer, kid),
  add check (num_nonnulls(public_key, jwks_url) = 1),
  add check (jwks_url is null or kid is null);

-- Counters against password guessing, shared by all processes: login attempts of a user and of an address within a
-- window. Before a login the tenant is unknown, so there is no tenant column. Names are stored as hashes, until the
-- window has closed and one of the next logins deletes them.
create table login_tries (
  subject text primary key check (length(subject) <= 64),
  tries integer not null,
  window_ends_at timestamptz not null
);
create index login_tries_by_end on login_tries (window_ends_at);

-- Down Migration

drop table login_tries;
delete from issuer_keys where public_key is null or kid is null;
alter table issuer_keys drop constraint issuer_keys_issuer_kid_key;
alter table issuer_keys drop column jwks_url, alter column public_key set not null, alter column kid set not null,
  add primary key (issuer, kid);
alter table merchants drop column is_blocked;
drop trigger users_password_change on users;
drop function note_password_change;
drop index users_by_login;
delete from users where merchant_id is null;
alter table users drop column integrator_id, drop column permissions, drop column password_changed_at,
  drop column last_login_at, alter column merchant_id set not null;
