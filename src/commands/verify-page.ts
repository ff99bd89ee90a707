/**
 * Commands about the files that payment pages load. `verify-page` compares the served files with the signed list (PCI
 * DSS 6.4.3 and 11.6.1); it requests them from outside, as a customer's browser would, so that changes in transit are
 * found as well. `script-tag` prints the element for embedded checkouts.
 */
import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { openDatabase } from '#commands/open-database.ts'
import { parseUrl } from '#commands/options.ts'
import { findOrigin } from '#commands/serve/served.ts'
import type { Config } from '#config.ts'
import { isRecord, memberOf, parseJson, textAt } from '#domain/json.ts'
import { describeInventory, loadAssets } from '#pages/assets.ts'
import { openDatabase as connect } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'
import { isSigned } from '#vault/inventory-signature.ts'
import { type DerivedKeys, openDerivedKeys } from '#vault/key-ring.ts'
import { readServed, type ServedFile } from '#webhooks/gateway-client.ts'

interface Options {
  readonly origin?: string
  readonly page?: string
  readonly json?: true
}

export function addVerifyPageCommand(program: Command, readConfig: () => Config): void {
  program
    .command('verify-page')
    .description('Compares what the payment pages load with the signed list of what they should load.')
    .option(
      '--origin <url>',
      'the address at which customers reach the gateway (default: as configured, or of the running server)',
      parseUrl,
    )
    .option(
      '--page <url>',
      'the address of an open payment page, whose scripts and policy are checked too',
      parseUrl,
    )
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const config = readConfig()
      const origin = new URL(options.origin ?? findOrigin(config)).origin
      const keys = await readKeys(config)
      const differences = await compareServed(origin, options.page, keys)
      const ok = differences.length === 0
      if (options.json) console.log(JSON.stringify({ ok, origin, differences }))
      else console.log(ok ? `${origin} serves what was signed.` : differences.join('\n'))
      if (!ok)
        throw new CommandFault(`${origin} does not serve what was signed: ${differences.length} differences`)
    })
}

async function readKeys(config: Config): Promise<DerivedKeys> {
  const opened = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  const database = connect(opened.url, () => undefined)
  try {
    return await openDerivedKeys(opened.masterKey, createInstallation(database))
  } finally {
    await database.close()
    await opened.close()
  }
}

async function read(address: string): Promise<ServedFile> {
  try {
    return await readServed(address)
  } catch (error) {
    throw new CommandFault(
      `${address} cannot be read: ${describeReason(memberOf(error, 'cause') ?? error)}`,
      {
        cause: error,
      },
    )
  }
}

/** The differences between the served files and the list, in sentences. */
export async function compareServed(
  origin: string,
  page: string | undefined,
  { pageInventory }: Pick<DerivedKeys, 'pageInventory'>,
): Promise<readonly string[]> {
  const differences: string[] = []
  const listed = await read(`${origin}/.well-known/payment-page-inventory.json`)
  const list = parseJson(listed.bytes.toString('utf8'))
  // A proxy may serve anything in its place, such as an error page.
  if (!isRecord(list))
    return [`the address of the list of files answered ${listed.status} with something else`]
  // Trusted only as far as the signature below proves it.
  const { signature, ...inventory } = list
  if (!isSigned(pageInventory, JSON.stringify(inventory), textAt(signature, 'value') ?? '')) {
    differences.push('the list of files is not signed by this installation')
  }
  const expected = describeInventory(loadAssets()).files
  if (JSON.stringify(inventory.files) !== JSON.stringify(expected)) {
    differences.push('the list of files is not that of this version')
  }
  for (const { url, integrity } of expected) {
    const { status, bytes } = await read(`${origin}${url}`)
    const found = `sha384-${createHash('sha384').update(bytes).digest('base64')}`
    if (status !== 200 || found !== integrity) differences.push(`${url} was changed (${status}, ${found})`)
  }
  if (page !== undefined) differences.push(...(await comparePage(page, expected)))
  return differences
}

type Expected = ReturnType<typeof describeInventory>['files']

async function comparePage(page: string, expected: Expected): Promise<readonly string[]> {
  const { status, bytes, headers } = await read(page)
  // Customers who are led elsewhere, or see an error page, load other things than those checked here.
  if (status !== 200)
    return [
      `the page answered ${status}, so that nothing of it was checked: name one that waits for its customer`,
    ]
  const html = bytes.toString('utf8')
  const policy = headers.get('content-security-policy') ?? ''
  const differences = ["default-src 'none'", "script-src 'self'", "connect-src 'self'"]
    .filter(rule => !policy.split('; ').includes(rule))
    .map(rule => `the policy of the page lacks ${rule}`)
  for (const [tag] of html.matchAll(/<script\b[^<>]*>/gi)) {
    const known = expected.some(
      ({ url, integrity }) => tag.includes(`"${url}"`) && tag.includes(`"${integrity}"`),
    )
    if (!known) differences.push(`the page has a script that is not on the list: ${tag.slice(0, 200)}`)
  }
  differences.push(...findForeignParts(html))
  for (const [tag] of html.matchAll(/<link\b[^<>]*stylesheet[^<>]*>/gi)) {
    if (!expected.some(({ url }) => tag.includes(`"${url}"`)))
      differences.push(`the page has a style that is not on the list: ${tag.slice(0, 200)}`)
  }
  return differences
}

/** Ways around scripts to send a customer's entries elsewhere. Our own pages have none of them. */
function findForeignParts(html: string): readonly string[] {
  const tags = [...html.matchAll(/<[a-z][^<>]*>/gi)].map(([tag]) => tag)
  const isForeign = (tag: string): boolean =>
    /^<(?:base|iframe|frame|object|embed|applet)\b/i.test(tag) ||
    /^<meta\b[^>]*\shttp-equiv\s*=/i.test(tag) ||
    /\son[a-z]+\s*=/i.test(tag) ||
    /\s(?:form)?action\s*=\s*["']?\s*(?!\/(?!\/))[^"'\s>]/i.test(tag)
  return tags.filter(isForeign).map(tag => `the page has something that is not ours: ${tag.slice(0, 200)}`)
}

/** `script-tag`: the element by which a shop's page loads the script for embedded checkouts, pinned to this version by its hash. */
export function addScriptTagCommand(program: Command, readConfig: () => Config): void {
  program
    .command('script-tag')
    .description('Prints the element that loads the script for embedded checkouts, with its integrity hash.')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { readonly json?: true }) => {
      const { url, integrity, brotli } = loadAssets().embed
      const src = new URL(url, findOrigin(readConfig())).href
      if (json) console.log(JSON.stringify({ src, integrity, compressedBytes: (await brotli()).length }))
      else console.log(`<script src="${src}" integrity="${integrity}" crossorigin="anonymous"></script>`)
    })
}
