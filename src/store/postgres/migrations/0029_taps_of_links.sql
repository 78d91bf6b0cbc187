-- Up Migration

-- The list finds every attempt on a link by the link's paymentReference (4.1). The unique index on payment references has only
-- the links that have not expired, so this one has them all; transactions without a link are not in the other one. The
-- outcome of a tap changes no indexed column, so its updates stay HOT, and a tap without a link writes nothing more.
create index if not exists links_by_any_payment_reference on links (acquirer_id, payment_reference, merchant_id);
create index if not exists transactions_by_link on transactions (acquirer_id, consumer_id) where consumer_id is not null;

-- Down Migration

drop index transactions_by_link, links_by_any_payment_reference;
