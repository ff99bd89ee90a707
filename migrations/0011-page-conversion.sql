-- Whether a merchant's pages offer customers to pay in the currency of their card.

ALTER TABLE merchant
  -- Off unless the merchant asks for it: its acquirer must convert, and somebody must have agreed on the markup.
  ADD COLUMN dcc boolean NOT NULL DEFAULT false;
