-- Statement by statement

-- Up Migration

-- The form with which a person cancelled the link. A form that is sent again finds its own id here.
alter table links add column if not exists cancellation_id text check (length(cancellation_id) <= 64);

-- The list of links of the console, newest first. created_at never changes, so updates of a link stay HOT.
create index concurrently if not exists links_by_creation on links (acquirer_id, created_at, id);

-- Down Migration

drop index concurrently if exists links_by_creation;

alter table links drop column if exists cancellation_id;
