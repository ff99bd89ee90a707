-- The customer vault: who has paid, and the cards a customer may pay with again. Both are born in the commit that
-- approves a payment, and both are really deleted when they are deleted: what payments show of a card is their own copy.

CREATE TABLE customer (
  merchant_id           text        NOT NULL,
  customer_id           uuid        NOT NULL,
  -- The merchant's own id: a customer is found again by it.
  merchant_customer_id  text        NOT NULL CHECK (char_length(merchant_customer_id) BETWEEN 1 AND 64),
  first_name            text        CHECK (char_length(first_name) <= 64),
  last_name             text        CHECK (char_length(last_name) <= 64),
  email                 text        NOT NULL CHECK (char_length(email) BETWEEN 1 AND 254),
  phone_country         text        CHECK (phone_country ~ '^[+]?[0-9]{1,4}$'),
  phone_number          text        CHECK (phone_number ~ '^[0-9]{3,15}$'),
  billing_address       json,
  -- The last approved payment that left no stored method behind; those that did are dated there.
  last_used_at          timestamptz NOT NULL,
  -- All three in the merchant's time.
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL,
  -- Raised by every change of the merchant's; a change that expects another one is refused.
  version               integer     NOT NULL CHECK (version > 0),
  PRIMARY KEY (merchant_id, customer_id),
  CONSTRAINT customer_phone_is_whole CHECK ((phone_country IS NULL) = (phone_number IS NULL))
) WITH (fillfactor = 85);
-- While a table is empty every index that begins with merchant_id looks equally good, and a plan made then lasts. So
-- only the primary key begins with it: the others begin with what they are for, or with an expression.
CREATE UNIQUE INDEX customer_by_merchant_customer_id ON customer (merchant_customer_id, merchant_id);
-- The order of lists, and the days they may be limited to.
CREATE INDEX customer_by_age ON customer ((merchant_id || ''), created_at, customer_id);
-- As lists look for them: letters of either case, a country with or without its plus sign.
CREATE INDEX customer_by_email ON customer (lower(email), merchant_id);
CREATE INDEX customer_by_phone ON customer (phone_number, ltrim(phone_country, '+'), merchant_id);

-- Marks in the order of a merchant's customers: how many are older than a moment, so that any page of the list, and
-- the number of all, is found without counting what lies before it. A block ends where the next one begins; the newest
-- is open and counted when asked. A deletion corrects the marks that come after it.
CREATE TABLE customer_block (
  merchant_id  text        NOT NULL,
  first_at     timestamptz NOT NULL,
  -- How many were created before first_at.
  older        integer     NOT NULL CHECK (older >= 0),
  PRIMARY KEY (merchant_id, first_at)
);
CREATE INDEX customer_block_by_place ON customer_block (merchant_id, older, first_at);

-- Where the open block begins. Births hold this row together and come after open_at; whoever parts the block or deletes
-- a customer holds it alone. A table of its own, so that a plan made while all was empty finds it by its one key.
CREATE TABLE customer_order (
  merchant_id  text        NOT NULL,
  open_at      timestamptz NOT NULL,
  PRIMARY KEY (merchant_id),
  FOREIGN KEY (merchant_id, open_at) REFERENCES customer_block (merchant_id, first_at)
);

-- What a customer may pay with again. A payment plan names customer_id and method_id of it; there is no foreign key
-- from there to here, because a plan outlives the method it was made with.
CREATE TABLE stored_method (
  merchant_id       text        NOT NULL,
  customer_id       uuid        NOT NULL,
  method_id         uuid        NOT NULL,
  type              text        NOT NULL CHECK (char_length(type) <= 40),
  -- The card in the vault: its keyed fingerprint.
  card_id           uuid        NOT NULL,
  last4_digits      text        NOT NULL CHECK (last4_digits ~ '^[0-9]{4}$'),
  brand             text        NOT NULL CHECK (char_length(brand) <= 64),
  expiry_date       text        CHECK (expiry_date ~ '^[0-9]{6}$'),
  card_holder_name  text        CHECK (char_length(card_holder_name) <= 45),
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  last_used_at      timestamptz NOT NULL,
  -- One card of a customer is one row.
  PRIMARY KEY (merchant_id, customer_id, card_id),
  CONSTRAINT stored_method_has_customer FOREIGN KEY (merchant_id, customer_id)
    REFERENCES customer (merchant_id, customer_id)
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX stored_method_by_id ON stored_method (method_id, merchant_id);
-- Who else keeps a card: asked by deletions, and by an expression so that nobody takes it for the way to one customer's.
CREATE INDEX stored_method_keepers ON stored_method ((card_id::text), merchant_id);

-- The customer of an approved payment. It stays when the customer is deleted: it says who it was, not who is there.
ALTER TABLE payment ADD COLUMN customer_id uuid;

ALTER TABLE vault_card
  -- Nobody keeps the card any more, but an order that waits for its confirm still needs the number. Its pseudo number
  -- is unknown from now on, and the number is destroyed when the last such order is decided.
  ADD COLUMN doomed_at timestamptz,
  ADD CONSTRAINT vault_card_doomed_or_destroyed CHECK (doomed_at IS NULL OR destroyed_at IS NULL);
CREATE INDEX vault_card_doomed ON vault_card (merchant_id) WHERE doomed_at IS NOT NULL;

-- For the same reason as above: the way to a card is its primary key.
DROP INDEX vault_card_by_pseudo_number;
CREATE UNIQUE INDEX vault_card_by_pseudo_number ON vault_card (pseudo_number, merchant_id);
