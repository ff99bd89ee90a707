/** The doctor's checks of the vault's keys; see payment-checks.ts. */
import type { Check } from '#storage/doctor/check.ts'
import { byOtherIndex } from '#storage/planner.ts'
import { rootSecretName } from '#storage/vault/vault-store.ts'

const hasNoKey =
  '((v.merchant_id, v.key_version) IN (SELECT k.merchant_id, k.key_version FROM vault_key k)) IS NOT TRUE'

/**
 * Reads rows in the order of the table: in the order of the index, three million cards took 24 seconds instead of one.
 */
const merchantId = `${byOtherIndex('v.merchant_id')} AS merchant_id`

export const vaultChecks: readonly Check[] = [
  {
    name: 'quote-of-its-payment',
    sentence: 'A quote that was used leads to its payment.',
    broken: `SELECT q.merchant_id, q.pay_id, NULL::uuid AS x_id, 'the payment of its quote is not there' AS detail
      FROM dcc_quote q WHERE q.pay_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payment p
        WHERE p.merchant_id = q.merchant_id AND p.pay_id = q.pay_id)`,
  },
  {
    name: 'card-in-vault',
    sentence: 'A payment by card leads to its row in the vault.',
    broken: `SELECT p.merchant_id, p.pay_id, NULL::uuid AS x_id, 'the vault knows nothing of its card' AS detail
      FROM payment p WHERE {touched p} AND p.card_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vault_card v
        WHERE v.merchant_id = p.merchant_id AND v.card_id = p.card_id)`,
  },
  {
    name: 'card-has-data-key',
    sentence: 'The data key that sealed a card is there.',
    broken: `SELECT ${merchantId}, NULL::uuid AS pay_id, NULL::uuid AS x_id,
        format('card %s is sealed with version %s', v.card_id, v.key_version) AS detail
      FROM vault_card v WHERE v.sealed IS NOT NULL AND ${hasNoKey}`,
  },
  {
    name: 'account-has-data-key',
    sentence: 'The data key that sealed a bank account is there.',
    broken: `SELECT ${merchantId}, NULL::uuid AS pay_id, NULL::uuid AS x_id,
        format('account %s is sealed with version %s', v.account_id, v.key_version) AS detail
      FROM vault_account v WHERE v.sealed IS NOT NULL AND ${hasNoKey}`,
  },
  ...[
    { name: 'secret', table: 'provider_secret', id: 'secret_id', what: 'the secret of a provider account' },
    { name: 'notice', table: 'provider_notice', id: 'notice_id', what: 'a notice of a provider' },
    { name: 'evidence', table: 'dispute_file', id: 'file_id', what: 'the evidence in a dispute' },
    { name: 'bank-file', table: 'bank_file_part', id: 'part_id', what: 'a file for the bank' },
    { name: 'bank-entry', table: 'bank_entry', id: 'entry_id', what: 'an entry of the bank' },
    { name: 'bank-surplus', table: 'bank_surplus', id: 'x_id', what: 'whom a surplus goes back to' },
  ].map(({ name, table, id, what }) => ({
    name: `${name}-has-data-key`,
    sentence: `The data key that sealed ${what} is there.`,
    broken: `SELECT ${merchantId}, NULL::uuid AS pay_id, NULL::uuid AS x_id,
        format('${name} %s is sealed with version %s', v.${id}, v.key_version) AS detail
      FROM ${table} v WHERE v.sealed IS NOT NULL AND ${hasNoKey}`,
  })),
  {
    name: 'one-master-key',
    sentence:
      'One master key wraps everything; where two do, a change was not finished: run keys rotate again.',
    broken: `SELECT k.merchant_id, NULL::uuid AS pay_id, NULL::uuid AS x_id,
        format('data key %s is wrapped with %s', k.key_version, k.master_key_id) AS detail
      FROM vault_key k JOIN installation i ON i.name = '${rootSecretName}'
      WHERE k.master_key_id <> split_part(i.value, ':', 1)`,
  },
]
