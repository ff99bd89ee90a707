/** What requests leave in memory survives a database that is away. */
import { expect, test } from 'vitest'
import { createAccessRecorder } from '#operations/audit/access-recorder.ts'
import type { KeyUse } from '#storage/api-keys.ts'
import type { AuditEntry } from '#storage/audit/audit.ts'

const minuteMs = 60_000
const use = { merchantId: 'mer_1', keyId: 'key_1', address: '192.0.2.7', allowed: true }

function openRecorder() {
  const state = {
    nowMs: 0,
    useError: undefined as Error | undefined,
    trailError: undefined as Error | undefined,
  }
  const trail: AuditEntry[] = []
  const used: KeyUse[] = []
  const recorder = createAccessRecorder({
    apiKeys: {
      async recordUses(uses) {
        if (state.useError) throw state.useError
        const fresh = uses.filter(({ address }) => !used.some(known => known.address === address))
        used.push(...uses)
        return fresh
      },
    },
    audit: {
      async append(entries) {
        if (entries.length > 0 && state.trailError) throw state.trailError
        trail.push(...entries)
      },
    },
    nowMs: () => state.nowMs,
  })
  return { recorder, state, trail, used }
}

const lost = () => new Error('Connection terminated')

test('the uses of keys that a lost database did not take are written when it is back', async () => {
  const { recorder, state, trail, used } = openRecorder()
  state.useError = lost()
  state.nowMs = 1_000
  recorder.onKeyUse(use)
  recorder.onKeyUse({ ...use, address: '192.0.2.8' })
  await expect(recorder.flush()).rejects.toThrow('terminated')
  state.nowMs = 2_000
  recorder.onKeyUse(use)
  state.useError = undefined
  await recorder.flush()
  expect(used.map(({ address, at }) => [address, at.getTime()])).toEqual([
    ['192.0.2.7', 2_000],
    ['192.0.2.8', 1_000],
  ])
  expect(trail.map(({ act, from }) => [act, from])).toEqual([
    ['key.used-from-new-address', '192.0.2.7'],
    ['key.used-from-new-address', '192.0.2.8'],
  ])
})

test('entries that the audit trail did not take are appended when it is back, once', async () => {
  const { recorder, state, trail } = openRecorder()
  recorder.onKeyUse(use)
  recorder.onFailedLogin('mer_1', '192.0.2.9')
  state.trailError = lost()
  await expect(recorder.flush()).rejects.toThrow('terminated')
  state.nowMs = minuteMs
  await expect(recorder.flush()).rejects.toThrow('terminated')
  state.trailError = undefined
  await recorder.flush()
  await recorder.flush()
  expect(trail.map(({ act, from }) => [act, from])).toEqual([
    ['key.used-from-new-address', '192.0.2.7'],
    ['login.failed', '192.0.2.9'],
  ])
})

test('an entry that the trail refuses is not tried for ever', async () => {
  const { recorder, state, trail } = openRecorder()
  recorder.onKeyUse(use)
  state.trailError = new Error('a CHECK constraint')
  await expect(recorder.flush()).rejects.toThrow('CHECK')
  state.trailError = undefined
  recorder.onKeyUse({ ...use, address: '192.0.2.8' })
  await recorder.flush()
  expect(trail.map(({ from }) => from)).toEqual(['192.0.2.8'])
})

test('a failed login counts to the minute in which it happened', async () => {
  const { recorder, state, trail } = openRecorder()
  recorder.onFailedLogin('mer_1', '192.0.2.9')
  recorder.onFailedLogin('mer_1', '192.0.2.9')
  state.nowMs = minuteMs
  recorder.onFailedLogin('mer_1', '192.0.2.9')
  await recorder.flush()
  expect(trail.map(({ after }) => after)).toEqual([{ count: 2, minute: '1970-01-01T00:00:00.000Z' }])
  await recorder.flush({ ending: true })
  expect(trail[1]?.after).toEqual({ count: 1, minute: '1970-01-01T00:01:00.000Z' })
})
