-- Statement by statement

-- Up Migration

-- Up to when the numbers of overlapping scopes (a terminal, and its acquirer as a whole) are known to be behind this
-- counter. Null for counters of the previous version: their next block is placed beyond all numbers of the other scopes.
alter table stan_blocks add column if not exists clear_at timestamptz;

-- Terminals of an acquirer whose counters have moved since. A longer text after the acquirer is no terminal.
create index concurrently if not exists stan_blocks_of_terminals on stan_blocks (split_part(scope, ' ', 1), reserved_at)
  where length(scope) - position(' ' in scope) <= 8 and position(' ' in scope) > 0;

-- Down Migration

drop index concurrently if exists stan_blocks_of_terminals;

alter table stan_blocks drop column if exists clear_at;
