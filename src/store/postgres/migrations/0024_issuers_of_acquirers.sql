-- Up Migration

-- An issuer name belongs to one acquirer. Another acquirer that registers the same name learns nothing about the first
-- and does not affect it. Within an acquirer all keys of an issuer still belong to one owner.
alter table issuer_keys drop constraint issuer_keys_issuer_kid_key;
alter table issuer_keys add unique (acquirer_id, issuer, kid);

-- Down Migration

delete from issuer_keys k using issuer_keys earlier
where earlier.issuer = k.issuer and earlier.acquirer_id <> k.acquirer_id
  and (earlier.created_at, earlier.id) < (k.created_at, k.id);
alter table issuer_keys drop constraint issuer_keys_acquirer_id_issuer_kid_key;
alter table issuer_keys add unique (issuer, kid);
