/**
 * For the doctor: checks that the root secret, the data keys and the data sealed with them can still be decrypted. Here
 * these are the secrets of webhooks, providers and operators; examine-seals.ts does the rest. Plain data is discarded
 * at once.
 */
import type { KeyObject } from 'node:crypto'
import type pg from 'pg'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import {
  type DataKeys,
  examineSeals,
  opens,
  type SealOptions,
  sealChecks,
} from '#operations/merchants/examine-seals.ts'
import type { CheckResult, Example } from '#storage/doctor/doctor.ts'
import { readSealedRows, type SealedRow, type SealedRows } from '#storage/doctor/sealed-rows.ts'
import { deriveAll, type KeyVersions, unwrapKey } from '#vault/key-ring.ts'
import type { MasterRing } from '#vault/master-key.ts'
import { unwrapRoots } from '#vault/root-secrets.ts'
import { type RecordKind, recordPlace } from '#vault/sealed-records.ts'
import { unseal } from '#vault/sealing.ts'

/** 20: as many as the other checks show. */
const examplesShown = 20

const keyChecks = {
  root: { name: 'root-secret-opens', sentence: 'The master key opens the root secret.' },
  dataKeys: { name: 'data-key-opens', sentence: 'The master key opens every data key.' },
  webhooks: {
    name: 'webhook-secret-opens',
    sentence: 'Every webhook secret opens for the merchant or endpoint that it lies with.',
  },
  secrets: {
    name: 'provider-secret-opens',
    sentence: 'Every secret of a provider account opens for the merchant that it lies with.',
  },
  codes: {
    name: 'operator-code-opens',
    sentence: 'The secret behind the one-time codes of every operator opens.',
  },
} as const

/** Checks everything that is sealed in one cell. The connection must have a transaction open. */
export async function examineVault(
  client: pg.ClientBase,
  ring: MasterRing,
  options?: SealOptions,
): Promise<readonly CheckResult[]> {
  const rows = await readSealedRows(client)
  const opened = await openDataKeys(rows.dataKeys, ring)
  return [...(await examineKeys(rows, ring, opened)), ...(await examineSeals(client, opened.keys, options))]
}

/** The results without the master key: each check says why it was not made. */
export const leaveVault = (notMade: string): readonly CheckResult[] =>
  [...Object.values(keyChecks), ...sealChecks].map(({ name, sentence }) => ({
    ...{ name, sentence, found: 0, examples: [], notMade },
  }))

interface OpenedKeys {
  readonly keys: DataKeys
  readonly broken: readonly Example[]
}

async function openDataKeys(rows: SealedRows['dataKeys'], ring: MasterRing): Promise<OpenedKeys> {
  const dataKeys = new Map<string, KeyObject>()
  const broken: Example[] = []
  for (const row of rows) {
    const key = await unwrapKey(row.merchantId, row, ring).catch(() => undefined)
    if (key) dataKeys.set(`${row.merchantId} ${row.keyVersion}`, key)
    else broken.push({ merchantId: row.merchantId, detail: `data key ${row.keyVersion} does not open` })
  }
  return {
    keys: { find: ({ merchantId, keyVersion }) => dataKeys.get(`${merchantId} ${keyVersion}`) },
    broken,
  }
}

async function examineKeys(
  rows: SealedRows,
  ring: MasterRing,
  { keys, broken }: OpenedKeys,
): Promise<readonly CheckResult[]> {
  const webhookKeys = await openWebhookKeys(rows.root, ring)
  const findBroken = (kind: RecordKind, what: string, sealed: readonly SealedRow[]): readonly Example[] =>
    sealed.flatMap(row => {
      const key = keys.find(row)
      const place = recordPlace(kind)(row.merchantId, row.id, row.keyVersion)
      const isWhole = key !== undefined && opens(() => unseal(key, row.sealed, place))
      return isWhole ? [] : [{ merchantId: row.merchantId, detail: `${what} ${row.id} does not open` }]
    })
  return [
    toResult(keyChecks.root, [
      ...(webhookKeys || rows.root === undefined
        ? []
        : [{ merchantId: '-', detail: 'it is damaged, or another master key sealed it' }]),
    ]),
    toResult(keyChecks.dataKeys, broken),
    toResult(keyChecks.webhooks, webhookKeys ? findBrokenWebhooks(webhookKeys, rows.webhookSecrets) : []),
    toResult(keyChecks.secrets, findBroken('provider secret', 'secret', rows.providerSecrets)),
    toResult(keyChecks.codes, findBroken('operator totp', 'the secret of operator', rows.operatorCodes)),
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

const toResult = (
  { name, sentence }: Pick<CheckResult, 'name' | 'sentence'>,
  broken: readonly Example[],
): CheckResult => ({
  ...{ name, sentence, found: broken.length, examples: broken.slice(0, examplesShown) },
})
