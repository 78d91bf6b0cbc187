-- Up Migration

-- Amounts are asked for in major units, whatever the currency (4.1). Without this a page of a rare amount read everything: 1 to 5
-- seconds at ten million rows, and 1 to 10 ms with it. The merchant stands behind the amount, so that what others took for as
-- much is passed over here. The expression is that of store/transactions/list-transactions.ts, word by word: the two are one to
-- Postgres only then. (28 s at ten million rows, in which nothing can be written: see ops/README.md.)
create index if not exists transactions_by_amount on transactions (acquirer_id,
  (amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 else 100 end::numeric),
  merchant_id);

-- As there are for merchants and integrators.
create index if not exists transactions_not_approved_by_acquirer
  on transactions (acquirer_id, other_disposition, created_at desc, id desc) where other_disposition is not null;

-- Down Migration

drop index transactions_by_amount, transactions_not_approved_by_acquirer;
