-- The rules of a card in one function instead of CHECKs that are read anew in every statement; see 0033-payment-rules.sql.

CREATE FUNCTION vault_card_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (r.pseudo_number ~ '^0[0-9]{15}$') THEN 'vault_card_pseudo_number_check'
    WHEN NOT (octet_length(r.sealed) <= 128) THEN 'vault_card_sealed_check'
    WHEN NOT (r.expiry_date ~ '^[0-9]{6}$') THEN 'vault_card_expiry_date_check'
    WHEN NOT ((r.sealed IS NULL) = (r.destroyed_at IS NOT NULL)) THEN 'vault_card_check'
    WHEN NOT (r.doomed_at IS NULL OR r.destroyed_at IS NULL) THEN 'vault_card_doomed_or_destroyed'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'vault_card', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "vault_card" violates check constraint "%s"', broken);
END $$;

ALTER TABLE vault_card ADD CONSTRAINT vault_card_rules CHECK (vault_card_follows_rules(vault_card)) NOT VALID;
ALTER TABLE vault_card DROP CONSTRAINT vault_card_pseudo_number_check;
ALTER TABLE vault_card DROP CONSTRAINT vault_card_sealed_check;
ALTER TABLE vault_card DROP CONSTRAINT vault_card_expiry_date_check;
ALTER TABLE vault_card DROP CONSTRAINT vault_card_check;
ALTER TABLE vault_card DROP CONSTRAINT vault_card_doomed_or_destroyed;
