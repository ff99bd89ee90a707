/** Runs each Node example of docs/webhooks.md as its own program and sends it real webhooks. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '#storage/embedded/processes.ts'
import { listFences, projectRoot, readDocument } from '#test/support/docs/docs.ts'
import { findFreePort } from '#test/support/free-port.ts'
import { addressPolicies } from '#webhooks/policies.ts'
import { createSender, type Message } from '#webhooks/send.ts'
import { buildMessage, readSecret, showSecret } from '#webhooks/sign.ts'

const document = readDocument('docs/webhooks.md')
const fences = listFences(document).filter(({ info }) => info.startsWith('js '))
const secret = Buffer.alloc(32, 5)
const webhookSecret = showSecret(secret)

/** Within the project, so that its packages are found. */
const folder = mkdtempSync(join(projectRoot, 'test', '.examples-'))
const sender = createSender({ policy: addressPolicies.test })
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await sender.close()
})

test('the page has one example for each of the four kinds of server', () => {
  expect(fences.map(({ info }) => info)).toEqual(['js express', 'js fastify', 'js next', 'js node'])
})

test.each(['python', 'php', 'java', 'go'])(
  '%s has an example too, which checks secret, time, id, body and all signatures',
  name => {
    const content = listFences(document).find(({ info }) => info === name)?.content ?? ''
    for (const part of [
      /webhook.id/i,
      /webhook.timestamp/i,
      /webhook.signature/i,
      /300|5\*time/,
      /v1,/,
      /< 24/,
    ]) {
      expect(content).toMatch(part)
    }
  },
)

/** Writes the example into a folder with its imports and a `handle` that prints its arguments. */
function writeExample(name: string, port: number): string {
  const content = fences.find(({ info }) => info === `js ${name}`)?.content ?? ''
  const stub = pathToFileURL(join(projectRoot, 'test/support/docs/express-stub.ts')).href
  const file = join(folder, `${name}.js`)
  writeFileSync(file, content.replace("'express'", `'${stub}'`).replace('3000', String(port)))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(
    join(folder, 'orders.js'),
    'export const handle = (event, id) => console.log(JSON.stringify({ id, event }))',
  )
  return file
}

test.each(['', 'whsec_', 'whsec_...'])(
  'the example for plain Node does not start with the secret "%s"',
  async unset => {
    const file = writeExample('node', await findFreePort())
    const child = spawn(process.execPath, [file], { env: { ...process.env, WEBHOOK_SECRET: unset } })
    const timer = setTimeout(() => child.kill(), 10_000)
    const [code] = await once(child, 'exit')
    clearTimeout(timer)
    expect(code).toBe(1)
  },
)

/** What Next does around a route: passes a Request in and sends the Response. */
const nextHost = (file: string, port: number) => `
  import { createServer } from 'node:http'
  import { buffer } from 'node:stream/consumers'
  import { POST } from '${pathToFileURL(file).href}'
  createServer(async (request, response) => {
    const init = { method: 'POST', headers: request.headers, body: await buffer(request) }
    const answer = await POST(new Request('http://localhost' + request.url, init))
    response.writeHead(answer.status).end()
  }).listen(${port})`

describe.each(['express', 'fastify', 'next', 'node'])('%s', name => {
  let child: ChildProcess
  let url: string
  let printed = ''
  beforeAll(async () => {
    const port = await findFreePort()
    let file = writeExample(name, port)
    if (name === 'next') {
      writeFileSync(join(folder, 'host.js'), nextHost(file, port))
      file = join(folder, 'host.js')
    }
    child = spawn(process.execPath, [file], { env: { ...process.env, WEBHOOK_SECRET: webhookSecret } })
    Readable.prototype.setEncoding.call(child.stdout, 'utf8').on('data', chunk => {
      printed += chunk
    })
    url = `http://localhost:${port}/webhooks`
    let listening = false
    const knock = () => {
      const socket = connect(port, 'localhost')
      socket.on('connect', () => {
        listening = true
        socket.destroy()
      })
      socket.on('error', () => undefined)
      return listening
    }
    await waitUntil(knock, 30_000)
  })
  afterAll(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  })

  const message = (by: Uint8Array[] = [secret], nowMs = Date.now()): Message =>
    buildMessage(
      { eventId: 'e1', payId: 'p1', body: '{"payId":"p1","note":"\\u00fc  ü"}', kind: 'ENHANCED', url },
      { secrets: by, nowMs },
    )

  test('accepts a genuine webhook', async () => {
    expect(await sender.send(message())).toMatchObject({ status: 204 })
    await waitUntil(() => printed.includes('\n'), 10_000)
    expect(JSON.parse(printed)).toEqual({ id: 'e1', event: { payId: 'p1', note: 'ü  ü' } })
  })

  test('accepts a webhook that is signed by the old secret and by the current one', async () => {
    expect(
      await sender.send(message([Buffer.alloc(32, 9), readSecret(webhookSecret) ?? secret])),
    ).toMatchObject({
      status: 204,
    })
    // Both webhooks were handled; anything printed from now on is an error.
    await waitUntil(() => printed.split('\n').length > 2, 10_000)
  })

  test.each<[string, () => Message]>([
    ['signed by another', () => message([Buffer.alloc(32, 9)])],
    ['of yesterday', () => message([secret], Date.now() - 86_400_000)],
    ['with another body', () => ({ ...message(), body: '{"payId":"p2"}' })],
    ['with another id', () => ({ ...message(), headers: { ...message().headers, 'webhook-id': 'e2' } })],
    ['without a signature', () => ({ ...message(), headers: { 'content-type': 'application/json' } })],
  ])('refuses a webhook %s', async (_, make) => {
    const before = printed
    expect(await sender.send(make())).toMatchObject({ status: 401 })
    expect(printed).toBe(before)
  })
})
