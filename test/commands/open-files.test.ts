/** A server that may open few files: connections do not take all of them, so that payments still reach the database. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Banner, borrowDataFolder, login, startWithOpenFiles } from '#test/support/command-line.ts'
import { afterwards, cleanUpAll } from '#test/support/database/embedded.ts'
import { cardPayment } from '#test/support/gateway.ts'

afterEach(cleanUpAll)

function send(agent: Agent, url: URL, banner?: Banner): Promise<number | undefined> {
  const options = banner
    ? { method: 'POST', headers: { authorization: login(banner), 'content-type': 'application/json' } }
    : {}
  return new Promise((resolve, reject) => {
    request(url, { agent, ...options }, response => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
      .once('error', reject)
      .end(banner ? JSON.stringify(cardPayment()) : undefined)
  })
}

/** Opens a connection and never sends on it; resolves when it is open or refused. */
const hold = (port: number): Promise<void> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve()).on('error', () => resolve())
    afterwards(() => void socket.destroy())
  })

test('payments over open connections succeed while strangers hold as many connections as they get', async () => {
  const folder = borrowDataFolder()
  const server = startWithOpenFiles(200, { TOLLGATE_DATA: folder, PORT: '0' })
  const banner = await server.ready()
  const origin = new URL(banner.baseUrl)
  const agent = new Agent({ keepAlive: true, maxSockets: 30 })
  afterwards(() => agent.destroy())
  const all = (path: string, by?: Banner) =>
    Promise.all(Array.from({ length: 30 }, () => send(agent, new URL(path, origin), by)))
  expect(new Set(await all('/health/ready'))).toEqual(new Set([200]))
  await Promise.all(Array.from({ length: 250 }, () => hold(Number(origin.port))))
  expect(new Set(await all('/api/v2/payments', banner))).toEqual(new Set([200]))
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect(server.stdout()).not.toContain('EMFILE')
})
