/** The official schemas and third-party samples, which are stored outside the project. */
import { existsSync, readFileSync } from 'node:fs'

const folder = ['../../../../', '../../../../../']
  .map(way => new URL(`${way}shared/providers/iso20022/`, import.meta.url))
  .find(place => existsSync(place))

export const isoFilesAbsent = folder === undefined

if (isoFilesAbsent)
  process.stderr.write(
    '../shared/providers/iso20022 is not there: tests against the ISO schemas are skipped.\n',
  )

export function isoFile(name: string): Buffer {
  if (!folder) throw new Error('the ISO 20022 files are not there')
  return readFileSync(new URL(name, folder))
}
