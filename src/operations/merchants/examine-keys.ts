/**
 * For the doctor: can the root secret, the data keys and the data sealed with them still be decrypted? It decrypts
 * secrets of webhooks, providers and operators and discards them at once; card and account numbers stay sealed.
 */
import type { KeyObject } from 'node:crypto'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { CheckResult, Example } from '#storage/doctor/doctor.ts'
import type { SealedRow, SealedRows } from '#storage/doctor/sealed-rows.ts'
import { deriveAll, type KeyVersions, unwrapKey } from '#vault/key-ring.ts'
import type { MasterRing } from '#vault/master-key.ts'
import { unwrapRoots } from '#vault/root-secrets.ts'
import { type RecordKind, recordPlace } from '#vault/sealed-records.ts'
import { unseal } from '#vault/sealing.ts'

/** 20: as the other checks show. */
const examplesShown = 20

export async function examineKeys(rows: SealedRows, ring: MasterRing): Promise<readonly CheckResult[]> {
  const webhookKeys = await openWebhookKeys(rows.root, ring)
  const dataKeys = new Map<string, KeyObject>()
  const brokenKeys: Example[] = []
  for (const row of rows.dataKeys) {
    const key = await unwrapKey(row.merchantId, row, ring).catch(() => undefined)
    if (key) dataKeys.set(`${row.merchantId} ${row.keyVersion}`, key)
    else brokenKeys.push({ merchantId: row.merchantId, detail: `data key ${row.keyVersion} does not open` })
  }
  const findBroken = (kind: RecordKind, what: string, sealed: readonly SealedRow[]): readonly Example[] =>
    sealed.flatMap(row => {
      const key = dataKeys.get(`${row.merchantId} ${row.keyVersion}`)
      const place = recordPlace(kind)(row.merchantId, row.id, row.keyVersion)
      const isWhole = key !== undefined && opens(() => unseal(key, row.sealed, place))
      return isWhole ? [] : [{ merchantId: row.merchantId, detail: `${what} ${row.id} does not open` }]
    })
  return [
    toResult('root-secret-opens', 'The master key opens the root secret.', [
      ...(webhookKeys || rows.root === undefined
        ? []
        : [{ merchantId: '-', detail: 'it is damaged, or another master key sealed it' }]),
    ]),
    toResult('data-key-opens', 'The master key opens every data key.', brokenKeys),
    toResult(
      'webhook-secret-opens',
      'Every webhook secret opens for the merchant or endpoint that it lies with.',
      webhookKeys ? findBrokenWebhooks(webhookKeys, rows.webhookSecrets) : [],
    ),
    toResult(
      'provider-secret-opens',
      'Every secret of a provider account opens for the merchant that it lies with.',
      findBroken('provider secret', 'secret', rows.providerSecrets),
    ),
    toResult(
      'operator-code-opens',
      'The secret behind the one-time codes of every operator opens.',
      findBroken('operator totp', 'the secret of operator', rows.operatorCodes),
    ),
  ]
}

async function openWebhookKeys(root: string | undefined, ring: MasterRing): Promise<KeyVersions | undefined> {
  if (root === undefined) return undefined
  const roots = await unwrapRoots(root, ring).catch(() => undefined)
  return roots && deriveAll(roots).webhookSecrets
}

const findBrokenWebhooks = (keys: KeyVersions, secrets: SealedRows['webhookSecrets']): readonly Example[] =>
  secrets.flatMap(({ merchantId, id, endpointId, sealed }) =>
    opens(() => openWebhookSecret(keys, { merchantId, endpointId: endpointId ?? undefined }, sealed))
      ? []
      : [{ merchantId, detail: `webhook secret ${id} does not open` }],
  )

function opens(open: () => Buffer): boolean {
  try {
    open().fill(0)
    return true
  } catch {
    // The question was whether it can be decrypted, so a failure is an answer.
    return false
  }
}

const toResult = (name: string, sentence: string, broken: readonly Example[]): CheckResult => ({
  name,
  sentence,
  found: broken.length,
  examples: broken.slice(0, examplesShown),
})
