/** pgbench as the bare client: the same two transactions per payment from a C program that does nothing else. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { orderBase, type Transactions, variables } from '#bench/bare-rows.ts'
import type { Measured } from '#bench/watch.ts'

/** The version that it prints; undefined when it is not installed. */
export function findPgbench(): string | undefined {
  const { status, stdout } = spawnSync('pgbench', ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** Clients are numbered below this, so that an order is a count of one client and its number. */
const clientsMax = 1000

/** transactions: statement by statement, as a program writes them; single: each transaction as one statement. */
export type PgbenchForm = 'transactions' | 'single'

const forms: Record<PgbenchForm, (statements: readonly string[]) => readonly string[]> = {
  transactions: statements => ['BEGIN', ...statements, 'COMMIT'].map(line => `${line};`),
  // One round trip instead of five: the minimum for a client without group commit.
  single: statements => {
    const before = statements.slice(0, -1).map((statement, index) => `part_${index} AS (${statement})`)
    return [`WITH ${before.join(', ')} ${statements.at(-1)};`]
  },
}

export async function writePgbenchScript(
  path: string,
  { first, second }: Transactions,
  form: PgbenchForm,
): Promise<void> {
  const random = Object.entries(variables).map(
    ([name, { from, to }]) => `\\set ${name} random(${from}, ${to})`,
  )
  const lines = [
    // Variables live as long as the client, so this counts its payments.
    '\\set count :count + 1',
    `\\set order :first + :count * ${clientsMax} + :client_id`,
    ...random,
    ...forms[form](first),
    ...forms[form](second),
  ]
  await writeFile(path, `${lines.join('\n')}\n`)
}

export interface PgbenchOptions {
  readonly script: string
  readonly databaseUrl: string
  readonly transactions: Transactions
  readonly clients: number
  readonly seconds: number
  readonly firstOrder: number
}

export async function runPgbench(options: PgbenchOptions): Promise<Measured> {
  const { script, databaseUrl, transactions, clients, seconds, firstOrder } = options
  const values = { ...transactions.constants, count: '0', first: String(orderBase + firstOrder) }
  const child = spawn('pgbench', [
    ...['--no-vacuum', '--protocol=prepared', '--jobs=2'],
    ...[`--client=${clients}`, `--time=${seconds}`, `--file=${script}`],
    ...Object.entries(values).map(([name, value]) => `--define=${name}=${value}`),
    databaseUrl,
  ])
  let said = ''
  const hear = (text: string) => {
    said += text
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  const [code] = await once(child, 'close')
  // It prints no rate when it processed nothing, as in a short run that spent all of its time on connecting.
  const perSecond = Number(/tps = ([\d.]+) \(without initial/.exec(said)?.[1] ?? 0)
  const acknowledged = Number(/transactions actually processed: (\d+)/.exec(said)?.[1])
  const failed = Number(/failed transactions: (\d+)/.exec(said)?.[1] ?? 0)
  if (code !== 0 || failed > 0 || Number.isNaN(perSecond) || Number.isNaN(acknowledged)) {
    throw new Error(`pgbench failed (${code}): ${said.slice(0, 2000)}`)
  }
  return { perSecond, acknowledged, amount: acknowledged * Number(transactions.constants.payment_amount) }
}
