-- Renames doomed_at to delete_after_use_at on both tables of the vault: the time at which the last customer who kept the
-- card or the account was deleted while a pending payment still needed the number. The previous release reads and writes
-- doomed_at, so both columns stay and a trigger copies whichever was written into the other. doomed_at can be dropped in
-- the release after the next.

ALTER TABLE vault_card ADD COLUMN delete_after_use_at timestamptz;
ALTER TABLE vault_account ADD COLUMN delete_after_use_at timestamptz;
UPDATE vault_card SET delete_after_use_at = doomed_at WHERE doomed_at IS NOT NULL;
UPDATE vault_account SET delete_after_use_at = doomed_at WHERE doomed_at IS NOT NULL;
CREATE INDEX vault_card_delete_after_use ON vault_card (merchant_id) WHERE delete_after_use_at IS NOT NULL;
CREATE INDEX vault_account_delete_after_use ON vault_account (merchant_id) WHERE delete_after_use_at IS NOT NULL;

CREATE FUNCTION copy_delete_after_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.delete_after_use_at IS DISTINCT FROM OLD.delete_after_use_at THEN
    NEW.doomed_at := NEW.delete_after_use_at;
  ELSE
    NEW.delete_after_use_at := NEW.doomed_at;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER vault_card_delete_after_use BEFORE UPDATE OF doomed_at, delete_after_use_at ON vault_card FOR EACH ROW
  WHEN (OLD.doomed_at IS DISTINCT FROM NEW.doomed_at
    OR OLD.delete_after_use_at IS DISTINCT FROM NEW.delete_after_use_at)
  EXECUTE FUNCTION copy_delete_after_use();
CREATE TRIGGER vault_account_delete_after_use BEFORE UPDATE OF doomed_at, delete_after_use_at ON vault_account FOR EACH ROW
  WHEN (OLD.doomed_at IS DISTINCT FROM NEW.doomed_at
    OR OLD.delete_after_use_at IS DISTINCT FROM NEW.delete_after_use_at)
  EXECUTE FUNCTION copy_delete_after_use();

-- The same rules as in 0033-card-rules.sql, the last one by its new name.
CREATE OR REPLACE FUNCTION vault_card_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (r.pseudo_number ~ '^0[0-9]{15}$') THEN 'vault_card_pseudo_number_check'
    WHEN NOT (octet_length(r.sealed) <= 128) THEN 'vault_card_sealed_check'
    WHEN NOT (r.expiry_date ~ '^[0-9]{6}$') THEN 'vault_card_expiry_date_check'
    WHEN NOT ((r.sealed IS NULL) = (r.destroyed_at IS NOT NULL)) THEN 'vault_card_check'
    WHEN NOT (r.delete_after_use_at IS NULL OR r.destroyed_at IS NULL) THEN 'vault_card_destroyed_once'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'vault_card', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "vault_card" violates check constraint "%s"', broken);
END $$;
