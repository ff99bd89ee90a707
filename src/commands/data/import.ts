/**
 * `bins import` and `rates import`: reference data from published files. Both replace all existing data, or
 * nothing.
 */
import { strict as assert } from 'node:assert'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { commandActor } from '#commands/audit-trail.ts'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { openDatabase } from '#commands/open-database.ts'
import { jsonOption } from '#commands/options.ts'
import { showProgress } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { BinFileError, readBinHeading, readBinLine } from '#domain/cards/bin-file.ts'
import type { BinRange } from '#domain/cards/bin-ranges.ts'
import { parseEcbRates, RateFileError } from '#domain/money/ecb-rates.ts'
import { auditAs } from '#operations/audit/audit.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { type Database, openDatabase as openPools } from '#storage/database.ts'
import { RepeatedRange, replaceBins } from '#storage/reference/bins.ts'
import { replaceRates } from '#storage/reference/rates.ts'

export function addImportCommands(program: Command, readConfig: () => Config): void {
  const bins = program.command('bins').summary('import card ranges')
  bins.description('Card ranges, for the BIN lookup and quotes of all merchants of this environment.')
  bins
    .command('import')
    .argument('<file>', 'CSV whose first line names the columns; see docs/services.md')
    .description(
      'Puts the ranges of the file in place of all imported before. A file with a fault changes nothing.',
    )
    .addOption(jsonOption())
    .action((file: string, { json }: { json?: true }) => importBins(readConfig(), file, json === true))

  const rates = program.command('rates').summary('import exchange rates')
  rates.description('Exchange rates, for quotes to all merchants of this environment.')
  rates
    .command('import')
    .argument('<file>', 'the daily reference rates of the European Central Bank, XML or CSV')
    .description(
      "Puts the file's newest day in place of all imported before. Quotes already made keep their rate.",
    )
    .addOption(jsonOption())
    .action((file: string, { json }: { json?: true }) => importRates(readConfig(), file, json === true))
}

async function importBins(config: Config, file: string, json: boolean): Promise<void> {
  const { size } = await lookAt(file)
  const count = await withPools(config, async (pools, isHome) => {
    const reading = { bytes: 0 }
    let ranges = 0
    const progress = showProgress('Reading bytes', {
      line: (bytes, total = 1) => `${ranges} ranges, ${Math.floor((100 * bytes) / total)} %`,
    })
    const onProgress = (done: number) => {
      ranges = done
      progress.advance(Math.min(reading.bytes, size), Math.max(1, size))
    }
    try {
      ranges = await replaceBins(pools, readRanges(file, reading), onProgress)
      if (isHome) await audit(pools, 'bins.import', file, { ranges })
      return ranges
    } catch (error) {
      throw error instanceof RepeatedRange ? new CommandFault(`${file}: ${error.message}`) : error
    } finally {
      progress.end()
    }
  })
  if (json) console.log(JSON.stringify({ ranges: count }))
  else console.log(`${count} ranges are in force.`)
}

/** Line by line, however long the file is. Every fault names its line. */
async function* readRanges(file: string, reading: { bytes: number }): AsyncGenerator<BinRange> {
  const input = createReadStream(file, 'utf8')
  input.on('data', chunk => {
    reading.bytes += Buffer.byteLength(chunk)
  })
  let number = 0
  let columns: ReturnType<typeof readBinHeading> | undefined
  let found = 0
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    if (line.trim() === '') continue
    try {
      if (columns === undefined) columns = readBinHeading(line)
      else {
        found += 1
        yield readBinLine(line, columns)
      }
    } catch (error) {
      throw error instanceof BinFileError
        ? new CommandFault(`${file}, line ${number}: ${error.message}`, { cause: error })
        : error
    }
  }
  if (found === 0) throw new CommandFault(`${file} holds no ranges`)
}

/** 8 MB: the file of all days since 1999 has less than two. */
const rateFileBytesMax = 8_000_000

async function importRates(config: Config, file: string, json: boolean): Promise<void> {
  const { size } = await lookAt(file)
  if (size > rateFileBytesMax) throw new CommandFault(`${file} is too large to be a file of rates`)
  const daily = parseRates(file, await readFile(file, 'utf8'))
  const { date, rates } = daily
  await withPools(config, async (pools, isHome) => {
    await replaceRates(pools, daily, 'ECB')
    if (isHome) await audit(pools, 'rates.import', file, { date, rates: rates.size })
  })
  if (json) console.log(JSON.stringify({ date, rates: rates.size }))
  else console.log(`${rates.size} rates of ${date} are in force.`)
}

function parseRates(file: string, text: string): ReturnType<typeof parseEcbRates> {
  try {
    return parseEcbRates(text)
  } catch (error) {
    throw error instanceof RateFileError
      ? new CommandFault(`${file}: ${error.message}`, { cause: error })
      : error
  }
}

async function lookAt(file: string): Promise<{ size: number }> {
  try {
    const found = await stat(file)
    if (found.isFile()) return found
  } catch (error) {
    throw new CommandFault(`${file} cannot be read: ${describeReason(error)}`, { cause: error })
  }
  throw new CommandFault(`${file} is not a file`)
}

const audit = (pools: Database, act: string, file: string, after: object): Promise<void> =>
  auditAs(commandActor(), createAuditStore(pools))({ act, object: basename(file), after })

/**
 * Runs the work in every cell and returns the last result, which is the same in all. The audit trail is in cell 0,
 * which comes first.
 */
async function withPools<T>(
  config: Config,
  work: (pools: Database, isHome: boolean) => Promise<T>,
): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const onProgress = (line: string): void => console.error(line)
  const database = await openDatabase(config, { purpose: 'command', onProgress, begins: true })
  try {
    let done: { readonly result: T } | undefined
    for (const { number, url } of database.cells) {
      const pools = openPools(url, error => console.error(`tollgate: ${describeReason(error)}`))
      try {
        done = { result: await work(pools, number === 0) }
      } finally {
        await pools.close()
      }
    }
    assert(done, 'there is no cell 0')
    return done.result
  } finally {
    await database.close()
  }
}
