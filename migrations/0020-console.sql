-- The console: people, how they prove who they are, and where they are signed in. It belongs to the installation and not
-- to a merchant, which is why its keys do not begin with one.

CREATE TABLE operator (
  operator_id    uuid        NOT NULL,
  email          text        NOT NULL CONSTRAINT operator_email_length CHECK (char_length(email) BETWEEN 3 AND 254),
  role           text        NOT NULL CONSTRAINT operator_role_known CHECK (role IN ('owner', 'admin', 'support', 'viewer')),
  -- NULL: all merchants.
  merchants      text[],
  -- Amounts such as 20000EUR, one per currency; NULL: no limit.
  refund_limits  text[],
  password_hash  text        CONSTRAINT operator_password_hash_length CHECK (char_length(password_hash) <= 512),
  -- The TOTP secret, sealed; and the last step whose code was used, so that each code works once.
  totp_key       integer,
  totp_sealed    bytea       CONSTRAINT operator_totp_length CHECK (octet_length(totp_sealed) <= 512),
  totp_step      bigint      NOT NULL DEFAULT 0,
  created_at     timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT operator_pkey PRIMARY KEY (operator_id)
);
CREATE UNIQUE INDEX operator_by_email ON operator (lower(email));

-- A link with which a person sets up how to sign in. Used once.
CREATE TABLE operator_link (
  token_hash   text        NOT NULL CONSTRAINT operator_link_hash_form CHECK (token_hash ~ '^[0-9a-f]{64}$'),
  operator_id  uuid        NOT NULL,
  expires_at   timestamptz NOT NULL,
  used_at      timestamptz,
  -- The TOTP secret that the page shows until it is confirmed, sealed.
  totp_key     integer,
  totp_sealed  bytea       CONSTRAINT operator_link_totp_length CHECK (octet_length(totp_sealed) <= 512),
  CONSTRAINT operator_link_pkey PRIMARY KEY (token_hash),
  CONSTRAINT operator_link_of_operator FOREIGN KEY (operator_id) REFERENCES operator (operator_id) ON DELETE CASCADE
);

CREATE TABLE operator_passkey (
  credential_id  text        NOT NULL CONSTRAINT operator_passkey_id_length CHECK (char_length(credential_id) <= 1400),
  operator_id    uuid        NOT NULL,
  public_key     bytea       NOT NULL CONSTRAINT operator_passkey_key_length CHECK (octet_length(public_key) <= 4096),
  counter        bigint      NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT operator_passkey_pkey PRIMARY KEY (credential_id),
  CONSTRAINT operator_passkey_of_operator FOREIGN KEY (operator_id) REFERENCES operator (operator_id) ON DELETE CASCADE
);

CREATE TABLE operator_session (
  session_hash  text        NOT NULL CONSTRAINT operator_session_hash_form CHECK (session_hash ~ '^[0-9a-f]{64}$'),
  session_id    uuid        NOT NULL,
  operator_id   uuid        NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  seen_at       timestamptz NOT NULL DEFAULT now(),
  address       text        NOT NULL CONSTRAINT operator_session_address_length CHECK (char_length(address) <= 64),
  browser       text        NOT NULL CONSTRAINT operator_session_browser_length CHECK (char_length(browser) <= 256),
  CONSTRAINT operator_session_pkey PRIMARY KEY (session_hash),
  CONSTRAINT operator_session_of_operator FOREIGN KEY (operator_id) REFERENCES operator (operator_id) ON DELETE CASCADE
);
CREATE INDEX operator_session_by_operator ON operator_session (operator_id);
