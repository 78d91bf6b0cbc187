-- Up Migration

-- What people call the switch of a processor, for the console and for lists. Its length is limited in the code
-- (schemas/admin-routing.ts).
alter table processors add column name text;

-- Down Migration

alter table processors drop column name;
