/** `script-tag`: the element by which a shop's page loads the script for embedded checkouts, pinned to this version by its hash. */
import type { Command } from 'commander'
import { guessBaseUrl } from '#commands/credentials.ts'
import type { Config } from '#config.ts'
import { loadAssets } from '#pages/assets.ts'

export function addScriptTagCommand(program: Command, readConfig: () => Config): void {
  program
    .command('script-tag')
    .description('Prints the element that loads the script for embedded checkouts, with its integrity hash.')
    .option('--json', 'print one line of JSON')
    .action(({ json }: { readonly json?: true }) => {
      const { url, integrity, brotli } = loadAssets().embed
      const src = new URL(url, guessBaseUrl(readConfig())).href
      if (json) console.log(JSON.stringify({ src, integrity, compressedBytes: brotli.length }))
      else console.log(`<script src="${src}" integrity="${integrity}" crossorigin="anonymous"></script>`)
    })
}
