/** `open`: the console in the browser; in a new test environment by the link that makes the first owner. */
import { spawn } from 'node:child_process'
import { platform } from 'node:os'
import type { Command } from 'commander'
import { CommandFault } from '#commands/faults.ts'
import { openDatabase } from '#commands/open-database.ts'
import { findConsole } from '#commands/serve/console-link.ts'
import { consoleOriginOf, findServed } from '#commands/serve/served.ts'
import type { Config } from '#config.ts'

export function addOpenCommand(program: Command, readConfig: () => Config): void {
  program
    .command('open')
    .description('Opens the console of the running gateway in your browser, and prints its address.')
    .option('--print', 'print the address only')
    .option('--json', 'print one line of JSON, and open nothing')
    .action(async ({ print, json }: { print?: true; json?: true }) => {
      const address = await findAddress(readConfig())
      console.log(json ? JSON.stringify({ address }) : address)
      // A pipe or a script wants the address, not a window.
      if (!print && !json && process.stdout.isTTY) await openBrowser(address)
    })
}

async function findAddress(config: Config): Promise<string> {
  const served = findServed(config)
  const origin = config.publicUrl ?? served?.origin
  if (origin === undefined)
    throw new CommandFault(
      `no gateway of ${config.dataDirectory} runs; start it with "npm start", or name its data folder with TOLLGATE_DATA`,
    )
  const database = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    const place = served?.console === undefined ? consoleOriginOf(config, origin) : served.console
    const address = await findConsole(config, database, place ?? undefined)
    if (address === undefined)
      throw new CommandFault('the console is switched off; start the gateway without TOLLGATE_CONSOLE=off')
    return address
  } finally {
    await database.close()
  }
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** If no browser can be opened, the address is already on the terminal. */
async function openBrowser(address: string): Promise<void> {
  const [command = 'xdg-open', ...words] = openers[platform()] ?? ['xdg-open']
  const { promise, resolve } = Promise.withResolvers<void>()
  const child = spawn(command, [...words, address], { detached: true, stdio: 'ignore' })
  child.once('error', () => {
    console.error('No browser could be started: open the address yourself.')
    resolve()
  })
  child.once('spawn', () => {
    child.unref()
    resolve()
  })
  await promise
}
