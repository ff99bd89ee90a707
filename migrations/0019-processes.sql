-- Several processes on one database: who is alive, whose work is whose, and news of changed merchants for all of them.

CREATE TABLE gateway_process (
  process     integer     GENERATED ALWAYS AS IDENTITY,
  started_at  timestamptz NOT NULL DEFAULT now(),
  -- The last heartbeat; -infinity when the process ended in order. What a silent one left is taken over by the others.
  seen_at     timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT gateway_process_pkey PRIMARY KEY (process)
);

-- Which process sent an operation or leased a timer. Each connection of a gateway names its process in a setting, so
-- that no statement has to carry it; a release that does not know the setting writes nothing here.
ALTER TABLE operation ADD COLUMN process integer;
ALTER TABLE operation ALTER COLUMN process SET DEFAULT nullif(current_setting('tollgate.process', true), '')::integer;
ALTER TABLE timer ADD COLUMN leased_by integer;

-- A change of a merchant or its keys is told to every process at once, whoever made it: a server, the command line, SQL.
CREATE FUNCTION tell_merchant_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('tollgate_merchant', coalesce(NEW.merchant_id, OLD.merchant_id));
  RETURN NULL;
END $$;
CREATE TRIGGER merchant_change AFTER INSERT OR UPDATE OR DELETE ON merchant
  FOR EACH ROW EXECUTE FUNCTION tell_merchant_change();
CREATE TRIGGER api_key_change AFTER INSERT OR DELETE OR UPDATE OF key_hash, expires_at ON api_key
  FOR EACH ROW EXECUTE FUNCTION tell_merchant_change();
