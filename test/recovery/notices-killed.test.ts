/**
 * Notices and a gateway that is killed: acknowledged notices are stored after the next start, and none is stored twice.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signItem } from '#test/support/adyen/signer.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { makeEmptyFolder, type RunningServer, startServer } from '#test/support/command-line.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const hmacKey = '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056'

let database: TestDatabase
let folder: string
const servers: RunningServer[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  folder = makeEmptyFolder()
})
afterAll(async () => {
  for (const { child } of servers) child.kill('SIGKILL')
  await Promise.all(servers.map(({ exited }) => exited))
  rmSync(folder, { recursive: true, force: true })
  await database.drop()
})

async function start() {
  const server = startServer('node', { DATABASE_URL: database.url, TOLLGATE_DATA: folder, PORT: '0' })
  servers.push(server)
  const { baseUrl, merchantId } = await server.ready()
  return { server, merchantId, origin: baseUrl.replace('/api/v2', '') }
}

/** A notice in Adyen's format: a capture of an unknown payment. */
function notice(pspReference: string): string {
  const NotificationRequestItem = signItem(
    {
      amount: { currency: 'EUR', value: 1000 },
      eventCode: 'CAPTURE',
      eventDate: '2026-11-16T12:00:00+01:00',
      merchantAccountCode: 'Shop',
      merchantReference: '019a3f6ba0117d3f90415263748596a7',
      originalReference: 'ORIGINAL1',
      pspReference,
      reason: '',
      success: 'true',
    },
    hmacKey,
  )
  return JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem }] })
}

test('a gateway that is killed right after its answer loses no notice and stores none twice', async () => {
  const first = await start()
  const commands = commandsHere(database.url, {
    TOLLGATE_MASTER_KEY_FILE: join(folder, 'master.key'),
    TOLLGATE_PUBLIC_URL: first.origin,
  })
  writeFileSync(join(folder, 'apiKey'), 'key')
  writeFileSync(join(folder, 'hmacKey'), hmacKey)
  const added = await commands.json(
    ...[
      'provider',
      'add',
      first.merchantId,
      '--connector',
      'adyen',
      '--name',
      'A',
      '--set',
      'merchantAccount=Shop',
    ],
    ...['--secret', `apiKey=@${join(folder, 'apiKey')}`, '--secret', `hmacKey=@${join(folder, 'hmacKey')}`],
  )
  const deliver = async (url: string, body: string) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return { status: response.status, text: await response.text() }
  }
  const references = ['PSP1', 'PSP2', 'PSP3', 'PSP4', 'PSP5']
  for (const reference of references)
    expect(await deliver(added.noticeUrl, notice(reference))).toEqual({ status: 200, text: '[accepted]' })
  first.server.child.kill('SIGKILL')
  await first.server.exited

  const second = await start()
  const url = `${second.origin}/providers/${added.accountId}/notices`
  // Adyen repeats notices without an acknowledgement.
  expect(await deliver(url, notice('PSP1'))).toEqual({ status: 200, text: '[accepted]' })
  expect(await deliver(url, notice('PSP6').replace('1000', '1001'))).toMatchObject({ status: 401 })
  const rows = await queryRows(database.url, 'SELECT count(*)::int AS items FROM notice_item')
  expect(rows).toEqual([{ items: references.length }])
  await expect
    .poll(async () => (await commands.json('notices', 'list', '--unmatched')).length, { timeout: 20_000 })
    .toBe(references.length)
  commands.remove()
})
