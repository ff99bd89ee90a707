/**
 * Personal data of a payment's customer outside of the payment itself: what receivers answered to its events, raw notices of
 * providers, and evidence in its disputes. Notices that still wait to be applied and evidence in open disputes stay.
 */
import type { PoolClient } from 'pg'

export async function eraseTraces(client: PoolClient, key: readonly string[]): Promise<void> {
  for (const table of ['event_attempt', 'event_delivery_attempt']) {
    await client.query(
      `UPDATE ${table} SET answer = '' WHERE merchant_id = $1 AND pay_id = $2 AND answer <> ''`,
      [...key],
    )
  }
  await client.query(
    `UPDATE provider_notice n SET sealed = NULL WHERE n.merchant_id = $1 AND n.sealed IS NOT NULL
       AND n.notice_id IN (SELECT i.notice_id FROM provider_reference r JOIN notice_item i
         ON i.merchant_id = r.merchant_id AND i.provider_account_id = r.provider_account AND i.reference = r.reference
         WHERE r.merchant_id = $1 AND r.pay_id = $2)
       AND NOT EXISTS (SELECT 1 FROM notice_item w
         WHERE w.merchant_id = n.merchant_id AND w.notice_id = n.notice_id AND w.due_at IS NOT NULL)`,
    [...key],
  )
  await client.query(
    `DELETE FROM dispute_file f USING dispute d WHERE d.merchant_id = $1 AND d.pay_id = $2
       AND d.status NOT IN ('OPEN', 'UNDER_REVIEW') AND f.merchant_id = d.merchant_id AND f.dispute_id = d.dispute_id`,
    [...key],
  )
}
