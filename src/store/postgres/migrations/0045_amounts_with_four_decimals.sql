-- Statement by statement

-- Up Migration

-- As transactions_by_amount (0020), with the currencies that have four decimals. The expression must equal that of
-- store/transactions/list-transactions.ts word for word, or Postgres does not use the index.
create index concurrently if not exists transactions_by_major_amount on transactions (acquirer_id,
  (amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 when currency = any('{CLF,UYW}') then 10000 else 100 end::numeric),
  merchant_id);

-- Only the amount filter of the previous version uses it.
drop index concurrently if exists transactions_by_amount;

-- Down Migration

create index concurrently if not exists transactions_by_amount on transactions (acquirer_id,
  (amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 else 100 end::numeric),
  merchant_id);

drop index concurrently if exists transactions_by_major_amount;
