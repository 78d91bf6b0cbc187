-- Up Migration

-- What the identity provider had granted the person who proposed, so that a proposal ends with the grant. Null for a user
-- with a password, and for proposals of the previous version, which then have to be made again.
alter table review_resolutions
  add column proposed_by_role text,
  add column proposed_by_owner integer;

-- Down Migration

alter table review_resolutions drop column proposed_by_owner, drop column proposed_by_role;
