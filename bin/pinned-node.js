/**
 * Finds a Node that runs TypeScript directly: the one that runs this file, or the one installed beside it
 * from npm. Plain JavaScript, because any Node from version 20 reads this.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * 24: the first long-term release that runs our TypeScript as it is and has every library function we use.
 */
const majorMin = 24

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

export const isModernEnough = Number(process.versions.node.split('.')[0]) >= majorMin

/** @returns {string | undefined} the path of a usable Node */
export function findNode() {
  return isModernEnough ? process.execPath : findInstalledNode()
}

function findInstalledNode() {
  const windows = process.platform === 'win32'
  const name = `node-${windows ? 'win' : process.platform}-${process.arch}`
  const file = windows ? 'node.exe' : 'node'
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    return [join(folder, 'bin', file), join(root, 'node_modules', '.bin', file)].find(path =>
      existsSync(path),
    )
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

export const missingNode =
  `Tollgate needs Node ${majorMin} or newer, this is Node ${process.versions.node}, and no newer one ` +
  'is installed beside ' +
  `it. Run "npm ci" without --omit=optional in ${root}, or install Node ${majorMin}.`
