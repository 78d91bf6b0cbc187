-- Up Migration

-- finishing: this cell serves the acquirer, and the end of its move is missing: the proxy, or what replication has left
-- in the other cell. It can neither be moved on nor be forgotten in its former cell.
alter table acquirer_cells drop constraint acquirer_cells_state_check;
alter table acquirer_cells add constraint acquirer_cells_state_check
  check (state in ('serving', 'finishing', 'leaving', 'held', 'closing', 'arriving', 'gone'));

-- Down Migration

update acquirer_cells set state = 'serving' where state = 'finishing';
alter table acquirer_cells drop constraint acquirer_cells_state_check;
alter table acquirer_cells add constraint acquirer_cells_state_check
  check (state in ('serving', 'leaving', 'held', 'closing', 'arriving', 'gone'));
