/** Table tests of the configuration: allowed values, all faults reported at once, and no secret shown. */
import { resolve } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { type Config, ConfigError, readConfig, variables } from '#config.ts'
import { variables as readersVariables } from '#http/reference/curl.ts'
import { makeCertificate } from '#test/support/certificate.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const own = makeCertificate()
const foreign = makeCertificate()
const files: Record<string, string> = {
  '/run/empty': '\n',
  '/run/key': `${key}\n`,
  '/run/url': 'postgres://u:hunter2@db/tollgate\n',
  '/tls/cert': own.cert,
  '/tls/key': own.key,
  '/tls/foreign-key': foreign.key,
}

function readFile(path: string): string {
  const content = files[path]
  if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  return content
}

const read = (env: Record<string, string>): Config => readConfig(env, readFile)

function readFaults(env: Record<string, string>): readonly string[] {
  try {
    read(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
  return []
}

test('without any variable the gateway is a test environment on this machine only', () => {
  expect(read({})).toEqual({
    cells: 1,
    cellUrls: [],
    console: 'on',
    consolePort: undefined,
    workers: 1,
    drainSeconds: 5,
    environment: 'test',
    host: '127.0.0.1',
    port: 8080,
    dataDirectory: resolve('.tollgate'),
    logLevel: 'info',
    loopbackWebhooks: true,
    simulatorLatencyMs: 0,
    warnings: [],
  })
  expect(Object.isFrozen(read({}))).toBe(true)
})

const tls = { TOLLGATE_TLS_CERT: '/tls/cert', TOLLGATE_TLS_KEY: '/tls/key' }

test.each<[Record<string, string>, Partial<Config>]>([
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '65535' }, { port: 65_535 }],
  [{ PORT: '' }, { port: 8080 }],
  [{ TOLLGATE_DCC_MARKUP: '2.5' }, { dccMarkup: '2.50' }],
  [{ TOLLGATE_DCC_MARKUP: '0' }, { dccMarkup: '0.00' }],
  [{ TOLLGATE_DCC_MARKUP: '20.00' }, { dccMarkup: '20.00' }],
  [{ TOLLGATE_SIMULATOR_LATENCY_MS: '250' }, { simulatorLatencyMs: 250 }],
  [{ TOLLGATE_SIMULATOR_LATENCY_MS: '10000' }, { simulatorLatencyMs: 10_000 }],
  [{ HOST: 'localhost' }, { host: 'localhost' }],
  [{ HOST: '127.3.2.1' }, { host: '127.3.2.1' }],
  [{ HOST: '::1' }, { host: '::1' }],
  [
    { HOST: '0.0.0.0', TOLLGATE_TRUSTED_PROXY: 'true' },
    { host: '0.0.0.0', trustedProxies: 1 },
  ],
  [{ TOLLGATE_TRUSTED_PROXY: 'false' }, { trustedProxies: undefined }],
  [{ TOLLGATE_TRUSTED_PROXY: '2' }, { trustedProxies: 2 }],
  [{ TOLLGATE_TRUSTED_PROXY: '10.0.0.0/8, 2001:db8::1' }, { trustedProxies: ['10.0.0.0/8', '2001:db8::1'] }],
  [{ HOST: 'pay.example.com', ...tls }, { host: 'pay.example.com' }],
  [{ TOLLGATE_DATA: '/var/lib/tollgate' }, { dataDirectory: '/var/lib/tollgate' }],
  [{ TOLLGATE_DATA: 'here' }, { dataDirectory: resolve('here') }],
  [{ TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY: key }, { environment: 'live' }],
  [{ TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY_FILE: '/run/key' }, { environment: 'live' }],
  [{ TOLLGATE_PUBLIC_URL: 'https://pay.example.com/' }, { publicUrl: 'https://pay.example.com' }],
  [{ TOLLGATE_PUBLIC_URL: 'http://localhost:8080' }, { publicUrl: 'http://localhost:8080' }],
  [
    { TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY: key, TOLLGATE_PUBLIC_URL: 'http://[::1]:8080' },
    { publicUrl: 'http://[::1]:8080' },
  ],
  [{ TOLLGATE_LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [{ npm_lifecycle_event: 'start', npm_lifecycle_script: 'node x' }, { npmScript: 'node x' }],
])('the settings %j are accepted', (env, expected) => {
  expect(read(env)).toMatchObject(expected)
})

test.each([
  [{ PORT: '65536' }, 'PORT is "65536", but must be a whole number from 0 to 65535'],
  [{ PORT: '80a' }, 'PORT is "80a"'],
  [{ PORT: '9000', TOLLGATE_CONSOLE_PORT: '9000' }, 'TOLLGATE_CONSOLE_PORT is 9000, the port of the API'],
  [{ TOLLGATE_CONSOLE_PORT: '8080' }, 'TOLLGATE_CONSOLE_PORT is 8080, the port of the API'],
  [{ TOLLGATE_DCC_MARKUP: '20.01' }, 'TOLLGATE_DCC_MARKUP is "20.01", but must be a percentage from 0 to 20'],
  [
    { TOLLGATE_SIMULATOR_LATENCY_MS: '10001' },
    'TOLLGATE_SIMULATOR_LATENCY_MS is "10001", but must be a whole number from 0 to 10000',
  ],
  [{ TOLLGATE_SIMULATOR_LATENCY_MS: '1.5' }, 'TOLLGATE_SIMULATOR_LATENCY_MS is "1.5"'],
  [{ TOLLGATE_SIMULATOR_LATENCY_MS: '-1' }, 'TOLLGATE_SIMULATOR_LATENCY_MS is "-1"'],
  [{ TOLLGATE_DCC_MARKUP: '-1' }, 'TOLLGATE_DCC_MARKUP is "-1"'],
  [{ TOLLGATE_DCC_MARKUP: '1.005' }, 'TOLLGATE_DCC_MARKUP is "1.005"'],
  [{ TOLLGATE_DCC_MARKUP: '3 %' }, 'TOLLGATE_DCC_MARKUP is "3 %"'],
  [{ PORT: '-1' }, 'PORT is "-1"'],
  [{ PORT: '8.5' }, 'PORT is "8.5"'],
  [{ HOST: '[::1]' }, 'HOST is "[::1]", but must be an IP address without brackets, or a host name'],
  [{ HOST: 'a b' }, 'HOST is "a b"'],
  [{ HOST: '0.0.0.0' }, 'HOST is "0.0.0.0", which others can reach'],
  [{ HOST: '::' }, 'HOST is "::", which others can reach'],
  [{ HOST: '192.168.1.5' }, 'set TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY, or TOLLGATE_TRUSTED_PROXY=true'],
  [{ HOST: 'example.com', TOLLGATE_TRUSTED_PROXY: 'false' }, 'HOST is "example.com", which others can reach'],
  [{ TOLLGATE_ENVIRONMENT: 'prod' }, 'TOLLGATE_ENVIRONMENT is "prod", but must be test or live'],
  [
    { TOLLGATE_ENVIRONMENT: 'live' },
    'TOLLGATE_MASTER_KEY or TOLLGATE_MASTER_KEY_FILE must be set in the live',
  ],
  [{ TOLLGATE_MASTER_KEY: 'c2hvcnQ=' }, 'TOLLGATE_MASTER_KEY must hold 32 bytes in base64; it holds 5'],
  [
    { TOLLGATE_MASTER_KEY_FILE: '/nowhere' },
    'TOLLGATE_MASTER_KEY_FILE names the file "/nowhere", which cannot',
  ],
  [
    { TOLLGATE_TLS_CERT: '/run/empty', TOLLGATE_TLS_KEY: '/tls/key' },
    'TOLLGATE_TLS_CERT names the file "/run/empty", which is empty',
  ],
  [
    { TOLLGATE_CELL_URLS_FILE: '/run/empty' },
    'TOLLGATE_CELL_URLS_FILE names the file "/run/empty", which is',
  ],
  [{ TOLLGATE_MASTER_KEY: key, TOLLGATE_MASTER_KEY_FILE: '/run/key' }, 'only one of them may be'],
  [{ DATABASE_URL: 'mysql://u:hunter2@db/x' }, 'DATABASE_URL must hold an address such as postgres://'],
  [{ DATABASE_URL: 'hunter2' }, 'what it holds is not shown'],
  [{ DATABASE_URL: 'postgres://u:hunter2@one:5432,two:5432/x' }, 'DATABASE_URL names several hosts'],
  [{ DATABASE_URL: 'postgres://one,two/x?target_session_attrs=read-write' }, 'but must name one'],
  [{ DATABASE_URL_FILE: '/run/key' }, 'the file of DATABASE_URL_FILE must hold an address'],
  [{ DATABASE_URL: 'postgres://db/x', DATABASE_URL_FILE: '/run/url' }, 'only one of them may be'],
  [{ TOLLGATE_TLS_CERT: '/tls/cert' }, 'only TOLLGATE_TLS_CERT is set'],
  [{ TOLLGATE_TLS_KEY: '/tls/key' }, 'only TOLLGATE_TLS_KEY is set'],
  [{ ...tls, TOLLGATE_TLS_KEY: '/tls/foreign-key' }, 'TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY cannot be used'],
  [
    { ...tls, TOLLGATE_TLS_CERT: '/run/key' },
    'TOLLGATE_TLS_CERT and TOLLGATE_TLS_KEY cannot be used together',
  ],
  [{ TOLLGATE_TRUSTED_PROXY: '11' }, 'the number of proxies in front (1 to 10)'],
  [{ TOLLGATE_TRUSTED_PROXY: '10.0.0.0/33' }, 'TOLLGATE_TRUSTED_PROXY is "10.0.0.0/33"'],
  [{ TOLLGATE_LOOPBACK_WEBHOOKS: 'no' }, 'TOLLGATE_LOOPBACK_WEBHOOKS is "no", but must be true or false'],
  [
    { TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY: key, TOLLGATE_LOOPBACK_WEBHOOKS: 'true' },
    'the live environment sends to public addresses only',
  ],
  [{ TOLLGATE_TRUSTED_PROXY: 'yes' }, 'TOLLGATE_TRUSTED_PROXY is "yes", but must be true or false'],
  [
    { TOLLGATE_PUBLIC_URL: 'https://x.example/api' },
    'TOLLGATE_PUBLIC_URL is "https://x.example/api", but must be',
  ],
  [{ TOLLGATE_PUBLIC_URL: 'ftp://x.example' }, 'must be an origin such as https://pay.example.com'],
  [
    { TOLLGATE_PUBLIC_URL: 'https://u:hunter2@x.example' },
    'must be an origin such as https://pay.example.com',
  ],
  [
    { TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY: key, TOLLGATE_PUBLIC_URL: 'http://pay.example' },
    'TOLLGATE_PUBLIC_URL is "http://pay.example", but must begin with https:// in the live environment',
  ],
  [{ TOLLGATE_LOG_LEVEL: 'loud' }, 'must be debug, info, warn, error or silent'],
])('the settings %j are refused in one sentence', (env, sentence) => {
  const faults = readFaults(env as Record<string, string>)
  expect(faults).toEqual([expect.stringContaining(sentence)])
  expect(faults.join()).not.toContain('hunter2')
})

test('all faults of the settings are reported at once', () => {
  const env = {
    PORT: 'x',
    TOLLGATE_LOG_LEVEL: 'x',
    TOLLGATE_ENVIRONMENT: 'live',
    TOLLGATE_TLS_CERT: '/tls/cert',
  }
  const faults = readFaults(env)
  expect(faults).toHaveLength(4)
  for (const fault of faults) expect(new ConfigError(faults).message).toContain(`\n  - ${fault}`)
})

test.each([
  [{ DATABASE_URL: 'postgresql://u:hunter2@db:5432/tollgate' }, 'postgresql://u:hunter2@db:5432/tollgate'],
  [{ DATABASE_URL_FILE: '/run/url' }, 'postgres://u:hunter2@db/tollgate'],
  [{ DATABASE_URL: 'postgres://u:hunter,2@db/tollgate' }, 'postgres://u:hunter,2@db/tollgate'],
  [{ DATABASE_URL: 'postgres://u@/hunter2?host=/run' }, 'postgres://u@/hunter2?host=/run'],
  [{ DATABASE_URL: 'postgresql:///hunter2?host=%2Frun' }, 'postgresql:///hunter2?host=%2Frun'],
])('the secret setting %j is read and never shown', (env, url) => {
  const result = read(env as Record<string, string>)
  expect(result.databaseUrl?.reveal()).toBe(url)
  expect(`${inspect(result)} ${JSON.stringify(result)}`).not.toContain('hunter2')
})

test.each<Record<string, string>>([{ TOLLGATE_MASTER_KEY: key }, { TOLLGATE_MASTER_KEY_FILE: '/run/key' }])(
  'the master key of %j is read and never shown',
  env => {
    const result = read(env)
    expect(result.masterKeys?.[0].key.export().toString('base64')).toBe(key)
    expect(`${inspect(result, { depth: 9 })} ${JSON.stringify(result)}`).not.toContain(key)
  },
)

test('certificate and key are read, and the key is not shown', () => {
  const result = read(tls)
  expect(result.tls?.cert).toBe(own.cert)
  expect(result.tls?.key.reveal()).toBe(own.key)
  expect(result.tls?.files).toEqual({ cert: '/tls/cert', key: '/tls/key' })
  expect(`${inspect(result, { depth: 9 })} ${JSON.stringify(result)}`).not.toContain('PRIVATE KEY')
})

test.each([
  ['TOLLGATE_PROT', 'PORT'],
  ['TOLLGATE_DATABASE_URL', 'DATABASE_URL'],
  ['TOLLGATE_LOGLEVEL', 'TOLLGATE_LOG_LEVEL'],
  ['TOLLGATE_ENV', 'TOLLGATE_ENVIRONMENT'],
  ['TOLLGATE_MASTERKEY', 'TOLLGATE_MASTER_KEY'],
  ['TOLLGATE_TRUST_PROXY', 'TOLLGATE_TRUSTED_PROXY'],
])('%s is unknown; the warning names %s', (name, nearest) => {
  const { warnings } = read({ [name]: 'x' })
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`^${name} .*did you mean ${nearest}\\?$`))])
})

test.each(['TOLLGATE_BANANA', 'TOLLGATE_SECRET_KEY', 'TOLLGATE_X', 'TOLLGATE_'])(
  '%s is unknown and resembles none; the warning names the list',
  name => {
    expect(read({ [name]: 'x' }).warnings).toEqual([
      `${name} is not a variable of Tollgate and has no effect; docs/operating.md lists the variables`,
    ])
  },
)

test('variables of other programs and of the API reference cause no warning', () => {
  const names = ['PATH', 'HOSTNAME', 'POSTGRES_PASSWORD', ...Object.values(readersVariables)]
  expect(read(Object.fromEntries(names.map(name => [name, 'x']))).warnings).toEqual([])
})

test('every variable that the gateway reads is in the table of variables', () => {
  const asked = new Set<string>()
  const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void asked.add(String(name)) })
  read(env)
  asked.delete('npm_lifecycle_event')
  expect([...asked].sort()).toEqual(variables.map(variable => variable.name).sort())
})

test.each([0o644, 0o602, 0o666])('live refuses a key file of mode %o', mode => {
  const env = { TOLLGATE_ENVIRONMENT: 'live', TOLLGATE_MASTER_KEY_FILE: '/run/key' }
  const open = () =>
    readConfig(
      env,
      () => key,
      () => mode,
    )
  expect(open).toThrow('every user may read or write: "chmod o-rwx /run/key" first')
  expect(
    readConfig(
      env,
      () => key,
      () => 0o640,
    ).environment,
  ).toBe('live')
  expect(
    readConfig(
      { TOLLGATE_MASTER_KEY_FILE: '/run/key' },
      () => key,
      () => mode,
    ).environment,
  ).toBe('test')
})

// Webhooks to this machine itself are allowed by default only if other machines cannot reach the gateway.
test.each<[Record<string, string>, boolean]>([
  [{}, false],
  [{ HOST: '::1' }, false],
  [{ HOST: 'localhost', TOLLGATE_PUBLIC_URL: 'http://localhost:8080' }, false],
  [{ HOST: '0.0.0.0', TOLLGATE_TRUSTED_PROXY: 'true' }, true],
  [{ TOLLGATE_TRUSTED_PROXY: '10.0.0.0/8' }, true],
  [{ TOLLGATE_TLS_CERT: '/tls/cert', TOLLGATE_TLS_KEY: '/tls/key' }, true],
  [{ TOLLGATE_PUBLIC_URL: 'https://pay.shop.example' }, true],
  [{ TOLLGATE_PUBLIC_URL: 'http://[::1]:8080' }, false],
])('whether others can reach a gateway with the settings %j: %s', (env, reachable) => {
  expect(read(env).loopbackWebhooks).toBe(!reachable)
  expect(read({ ...env, TOLLGATE_LOOPBACK_WEBHOOKS: 'true' }).loopbackWebhooks).toBe(true)
  expect(read({ ...env, TOLLGATE_LOOPBACK_WEBHOOKS: 'false' }).loopbackWebhooks).toBe(false)
})
