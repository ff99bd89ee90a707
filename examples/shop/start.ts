/** `npm run example`: starts the gateway's test environment and the shop, and says where to go. Ctrl-C ends both. */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createShop } from './shop.ts'

const root = resolve(import.meta.dirname, '../..')
const program = join(root, 'bin/tollgate.js')
const port = process.env.PORT ?? '8080'
const shopPort = Number(process.env.SHOP_PORT ?? 3000)
const gateway = `http://127.0.0.1:${port}`
const data = process.env.TOLLGATE_DATA ?? join(root, '.tollgate')
const env = { ...process.env, PORT: port, TOLLGATE_DATA: data }

const server = spawn(process.execPath, [program, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
server.once('exit', code => process.exit(code ?? 1))
process.once('SIGTERM', () => server.kill('SIGTERM'))
// Ctrl-C reaches the gateway too; this process ends when it has ended.
process.once('SIGINT', () => undefined)

async function isReady(): Promise<boolean> {
  return fetch(`${gateway}/health/ready`).then(
    answer => answer.ok,
    () => false,
  )
}

while (!(await isReady())) await new Promise(resolveLater => setTimeout(resolveLater, 200))
const demo = JSON.parse(readFileSync(join(data, 'demo.json'), 'utf8'))
const shopOrigin = `http://127.0.0.1:${shopPort}`
execFileSync(process.execPath, [program, 'merchant', 'set', demo.merchantId, '--frame-origins', shopOrigin], {
  env,
})
createShop({ gateway, ...demo }).listen(shopPort, '127.0.0.1', () => {
  console.log(
    `The shop is open: ${shopOrigin} (pay with the card 4111 1111 1111 1111, any future date, any code)`,
  )
})
