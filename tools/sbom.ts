/**
 * `npm run sbom`: prints all packages that run in production as a CycloneDX document, from the lock file. npm's own list
 * (`npm sbom --omit=dev`) leaves out what a development package needs as well, such as ajv.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type LockedPackages = Readonly<Record<string, Locked>>

const folder = 'node_modules/'
const nameOf = (path: string): string => path.slice(path.lastIndexOf(folder) + folder.length)
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** The packages that an installation without development packages holds. Links lead to folders of our own. */
const productionPackages = (packages: LockedPackages): readonly [path: string, entry: Locked][] =>
  Object.entries(packages).filter(([path, { dev, link }]) => path.startsWith(folder) && !dev && !link)

/** As Node finds a package: in the folder of the package itself, then in those above it. */
function resolve(packages: LockedPackages, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf(`/${folder}`), 0))) {
    const path = at === '' ? `${folder}${name}` : `${at}/${folder}${name}`
    if (packages[path]) return path
    if (at === '') return undefined
  }
}

function toComponent([path, { version, integrity, license, optional }]: [string, Locked]) {
  const name = nameOf(path)
  const [, digest] = /^sha512-(\S+)$/.exec(integrity ?? '') ?? []
  return {
    type: 'library',
    'bom-ref': path,
    name,
    version,
    scope: optional ? 'optional' : 'required',
    ...(digest && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    }),
    // An expression names one licence or several: MIT, (MIT OR CC0-1.0).
    ...(license && { licenses: [{ expression: license }] }),
    purl: purlOf(name, version),
  }
}

export function describePackages(lock: { readonly packages: LockedPackages }): object {
  const { packages } = lock
  const { version = '' } = packages[''] ?? {}
  const known = productionPackages(packages)
  const isShipped = new Set(known.map(([path]) => path))
  const needs = (path: string, { dependencies, optionalDependencies }: Locked): string[] =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .map(name => resolve(packages, path, name))
      .filter(found => found !== undefined && isShipped.has(found))
      .map(String)
  const root = packages['']
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': 'tollgate',
        name: 'tollgate',
        version,
        purl: purlOf('tollgate', version),
      },
    },
    components: known.map(toComponent),
    dependencies: [
      { ref: 'tollgate', dependsOn: root ? needs('', root) : [] },
      ...known.map(([path, entry]) => ({ ref: path, dependsOn: needs(path, entry) })),
    ],
  }
}

export const writeSbom = (root: string): string =>
  `${JSON.stringify(describePackages(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))), undefined, 2)}\n`

if (import.meta.main) process.stdout.write(writeSbom(join(import.meta.dirname, '..')))
