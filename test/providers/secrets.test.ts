/** Credentials of provider accounts: sealed, never shown, and still valid after a rotation of the vault's keys. */
import { spawn } from 'node:child_process'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const apiKey = 'AQE-the-key-of-this-test'
const hmacKey = '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056'

let database: TestDatabase
let commands: CommandsHere
let merchantId: string
let accountId: string
/** The headers of the last call to the provider. */
let called: IncomingHttpHeaders | undefined
let status = 200
const provider = createServer((request, response) => {
  called = request.headers
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(
    status === 200
      ? '{"paymentMethods":[]}'
      : `{"status":401,"errorCode":"000","message":"Unauthorized: ${called['x-api-key']}\\u001b[2J"}`,
  )
})

beforeAll(async () => {
  database = await createTestDatabase()
  commands = commandsHere(database.url)
  await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve))
  merchantId = (await commands.json('merchant', 'create', '--name', 'Shop')).merchantId
  const { port } = provider.address() as AddressInfo
  accountId = (
    await commands.json(
      ...[
        'provider',
        'add',
        merchantId,
        '--connector',
        'adyen',
        '--name',
        'A',
        '--set',
        'merchantAccount=Shop',
      ],
      ...['--set', `baseUrl=http://127.0.0.1:${port}`],
      ...['--secret', `apiKey=@${commands.file('apiKey', `${apiKey}\n`)}`],
      ...['--secret', `hmacKey=@${commands.file('hmacKey', hmacKey)}`],
    )
  ).accountId
})
afterAll(async () => {
  provider.closeAllConnections()
  await new Promise(resolve => provider.close(resolve))
  commands.remove()
  await database.drop()
})

async function check() {
  called = undefined
  const ended = await commands.run('provider', 'check', accountId, '--json')
  return { ...ended, key: (called as IncomingHttpHeaders | undefined)?.['x-api-key'] }
}

test('the provider is called with the given key, which is shown nowhere', async () => {
  expect(await check()).toMatchObject({ code: 0, key: apiKey })
  const shown = await commands.run('provider', 'show', accountId, '--json')
  const listed = await commands.run('provider', 'list')
  const trail = await commands.run('audit', 'list', '--json')
  for (const { stdout, stderr } of [shown, listed, trail]) {
    expect(stdout + stderr).not.toContain(apiKey)
    expect(stdout + stderr).not.toContain(hmacKey)
  }
  expect(JSON.parse(shown.stdout).secrets).toEqual(['apiKey', 'hmacKey'])
  const rows = await queryRows<{ sealed: Buffer }>(database.url, 'SELECT sealed FROM provider_secret')
  expect(rows.some(({ sealed }) => sealed.includes(apiKey))).toBe(false)
})

test('the check reports a wrong key without showing it, even if the provider quotes it, and exits with 1', async () => {
  status = 401
  const { code, stdout } = await check()
  expect([code, stdout]).toEqual([1, expect.stringContaining('Unauthorized: …')])
  // Control characters in the provider's text do not reach the terminal.
  const shown = await commands.run('provider', 'check', accountId)
  expect(shown.stdout).toContain('Unauthorized: …\\u001b[2J')
  status = 200
})

test('after a rotation of master key and data keys the provider gets the same key', async () => {
  expect(await commands.run('keys', 'rotate')).toMatchObject({ code: 0 })
  expect(await check()).toMatchObject({ code: 0, key: apiKey })
  const renewed = await commands.json('keys', 'renew')
  expect(renewed.records).toBe(2)
  expect(await check()).toMatchObject({ code: 0, key: apiKey })
  expect(await commands.run('doctor')).toMatchObject({ code: 0 })
  await queryRows(database.url, 'UPDATE provider_secret SET key_version = 99')
  const unwell = await commands.run('doctor')
  expect(unwell).toMatchObject({ code: 1, stdout: expect.stringContaining('FOUND  secret-has-data-key') })
  await queryRows(database.url, 'UPDATE provider_secret SET key_version = 2')
})

test('a secret that was moved to another account cannot be opened', async () => {
  const other = await commands.json(
    ...[
      'provider',
      'add',
      merchantId,
      '--connector',
      'adyen',
      '--name',
      'B',
      '--set',
      'merchantAccount=Shop',
    ],
    ...['--secret', `apiKey=@${commands.file('other', 'other')}`],
    ...['--secret', `hmacKey=@${commands.file('hmacKey', hmacKey)}`],
  )
  await queryRows(
    database.url,
    `DELETE FROM provider_secret WHERE provider_account_id = '${other.accountId}' AND name = 'apiKey';
     UPDATE provider_secret SET provider_account_id = '${other.accountId}'
     WHERE provider_account_id = '${accountId}' AND name = 'apiKey'`,
  )
  const refused = await commands.run('provider', 'check', other.accountId)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('sealed for another account') })
})

test('one secret may come from standard input', async () => {
  const words = ['provider', 'set', accountId, '--secret', 'apiKey=-', '--json']
  const child = spawn(process.execPath, ['bin/tollgate.js', ...words], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url, TOLLGATE_DATA: commands.folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(' from-standard-input\n')
  expect(JSON.parse(await text(child.stdout))).toMatchObject({ accountId, secrets: ['apiKey', 'hmacKey'] })
  expect(await check()).toMatchObject({ code: 0, key: 'from-standard-input' })
})
