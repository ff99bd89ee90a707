/** Copies the embedded database of one data folder, which must be stopped, and its password into another one. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export function copyDataFolder(from: string, to: string): void {
  const parts = ['postgres', 'postgres.password'].map(name => join(from, name))
  // As cp does it: with owners, which differ for root, and by reference where the file system can.
  const { status, stderr } = spawnSync('cp', ['-a', ...parts, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${from} was not copied: ${stderr}`)
}
