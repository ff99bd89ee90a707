/**
 * Chooses the operating system account of PostgreSQL, which refuses to run as root. Creates no user, and changes the
 * owner only of the folders it is given.
 */
import { spawnSync } from 'node:child_process'
import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { EmbeddedPostgresError } from '#storage/embedded/processes.ts'

interface Identity {
  readonly uid: number
  readonly gid: number
}

export interface Account {
  /** Words before the program on the command line. */
  readonly prefix: readonly string[]
  /** The identity for `spawn`; absent if the process keeps its own. */
  readonly spawnAs?: Identity
  /** The required owner of the cluster; absent if we are not root and cannot change owners. */
  readonly owner?: Identity
  /** What the operator should know about the choice. */
  readonly warning?: string
}

const root: Identity = { uid: 0, gid: 0 }

const ownAccount = 'tollgate'

const sharedAccount =
  'warning: the embedded PostgreSQL runs as nobody, an account that other programs may share; ' +
  '"useradd --system tollgate" gives it one of its own from the next start on'

/** `paths` are the folders which PostgreSQL must be able to reach: its programs and its data. */
export function chooseAccount(paths: readonly string[]): Account {
  if (process.getuid?.() !== 0) return { prefix: [] }
  // A dedicated account protects the files from other programs that run as `nobody`.
  const own = lookUp(ownAccount)
  if (own && findBlockingFolder(paths, own) === undefined) return { prefix: [], spawnAs: own, owner: own }
  const nobody = lookUpNobody()
  const blocked = findBlockingFolder(paths, nobody)
  const warning = own ? undefined : sharedAccount
  if (blocked === undefined) return { prefix: [], spawnAs: nobody, owner: nobody, warning }
  // In a user namespace that maps root to nobody, PostgreSQL runs as an ordinary user who owns root's files: it may
  // traverse root's private folders, but has no rights over other users' files.
  const prefix = ['unshare', '--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`, '--']
  if (findBlockingFolder(paths, root) === undefined && canRun(prefix)) return { prefix, owner: root, warning }
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and the user nobody may not enter ${blocked}. Choose one: allow ` +
      'passage with ' +
      `"chmod o+x ${blocked}"; move the data elsewhere with TOLLGATE_DATA (if the data is what lies ` +
      'there); start ' +
      'Tollgate as an ordinary user; or set DATABASE_URL to a PostgreSQL of your own.',
  )
}

/**
 * Gives the folder and its contents to the account. The folder itself comes last, so that its owner proves completion.
 */
export function handOver(folder: string, account: Account): void {
  const found = lstatSync(folder)
  const { owner } = account
  if (owner === undefined) {
    if (process.getuid === undefined || found.uid === process.getuid()) return
    throw new EmbeddedPostgresError(
      `${folder} belongs to another user (id ${found.uid}), probably because Tollgate was started as ` +
        'root before. Start ' +
        'it as that user again, or give the folder to yourself with "sudo chown -R $(id -u):$(id -g) ' +
        `${dirname(folder)}".`,
    )
  }
  if (found.uid !== owner.uid) changeOwner(folder, owner)
}

function changeOwner(path: string, owner: Identity): void {
  if (lstatSync(path).isDirectory()) {
    for (const name of readdirSync(path)) changeOwner(join(path, name), owner)
  }
  lchownSync(path, owner.uid, owner.gid)
}

function lookUp(name: string): Identity | undefined {
  const uid = askId('-u', name)
  const gid = askId('-g', name)
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}

function lookUpNobody(): Identity {
  const nobody = lookUp('nobody')
  if (nobody) return nobody
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and this machine has no user nobody to run it as. Start Tollgate ' +
      'as an ordinary ' +
      'user, or set DATABASE_URL to a PostgreSQL of your own.',
  )
}

function askId(option: '-u' | '-g', name: string): number | undefined {
  const { status, stdout } = spawnSync('id', [option, name], { encoding: 'utf8' })
  // Bitwise or with zero: some systems print the id -2 as an unsigned number, and spawn takes a signed one.
  return status === 0 && /^-?\d+$/.test(stdout.trim()) ? Number(stdout) | 0 : undefined
}

function canRun(prefix: readonly string[]): boolean {
  const [command = '', ...options] = prefix
  return spawnSync(command, [...options, 'true'], { stdio: 'ignore' }).status === 0
}

/** The outermost ancestor of the paths that the identity may not traverse. */
function findBlockingFolder(paths: readonly string[], identity: Identity): string | undefined {
  return paths.flatMap(listAncestors).find(folder => !mayPass(folder, identity))
}

function listAncestors(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...listAncestors(parent), path]
}

function mayPass(folder: string, { uid, gid }: Identity): boolean {
  const found = statSync(folder)
  if (found.uid === uid) return (found.mode & 0o100) !== 0
  if (found.gid === gid) return (found.mode & 0o010) !== 0
  return (found.mode & 0o001) !== 0
}
