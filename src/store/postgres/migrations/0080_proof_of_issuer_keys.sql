-- Up Migration

-- When the holder of the private key proved possession for this acquirer; null for key sets, and for keys that an earlier
-- version registered. Only proven keys may sign without the claim acquirerId if several acquirers have the issuer.
alter table issuer_keys add column proven_at timestamptz;

-- Down Migration

alter table issuer_keys drop column proven_at;
