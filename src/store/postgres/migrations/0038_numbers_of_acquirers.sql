-- Up Migration

-- The first number that this cell assigns to a new acquirer. Each cell has a million of them, so two cells never assign
-- the same number (src/tools/cells/cell-list.ts).
alter table cell_identity add column first_acquirer integer not null default 1;

-- Down Migration

alter table cell_identity drop column first_acquirer;
