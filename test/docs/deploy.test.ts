/** The files for containers, services and proxies: each is parsed, and every name, port, path and variable in it exists. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { variables } from '#config.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { projectRoot } from '#test/support/docs/docs.ts'
import { parseYaml } from '#test/support/docs/yaml.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const read = (file: string): string => readFileSync(join(projectRoot, file), 'utf8')
const known = [...variables.map(({ name }) => name), 'NODE_ENV']
const port = variables.find(({ name }) => name === 'PORT')?.default

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

describe('Dockerfile', () => {
  const steps = read('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const [, word = '', rest = ''] = /^([A-Z]+) +(.+)$/.exec(line) ?? []
      return { word, rest }
    })
  const all = (word: string) => steps.filter(step => step.word === word).map(step => step.rest)

  test('has two stages on a slim image of the Node that the code needs', () => {
    expect(all('FROM')).toEqual(['node:24-bookworm-slim AS install', 'node:24-bookworm-slim'])
    expect(steps.filter(step => step.word === '')).toEqual([])
  })

  test('runs as a user that is not root', () => {
    expect(all('USER')).toEqual(['node'])
    expect(steps.findLastIndex(step => step.word === 'RUN')).toBeLessThan(
      steps.findIndex(step => step.word === 'USER'),
    )
  })

  test('copies only what exists and what .dockerignore lets through', () => {
    const sources = all('COPY')
      .filter(rest => !rest.startsWith('--from'))
      .flatMap(rest => rest.split(' ').slice(0, -1))
    const letThrough = read('.dockerignore')
      .split('\n')
      .filter(line => line.startsWith('!'))
      .map(line => line.slice(1))
    expect(sources.filter(source => !existsSync(join(projectRoot, source)))).toEqual([])
    expect(sources.filter(source => !letThrough.includes(source))).toEqual([])
  })

  test('leaves out the tests beside the source, as the package does', () => {
    const { files }: { files: string[] } = JSON.parse(read('package.json'))
    const left = files.filter(file => file.startsWith('!src/')).map(file => file.replace('!src/', ''))
    expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(left))
    expect(left).toHaveLength(2)
  })

  test('names variables, port and program that exist', () => {
    const settings = new Map(
      all('ENV').flatMap(rest => rest.split(' ').map(pair => pair.split('='))) as [string, string][],
    )
    expect([...settings.keys()].filter(name => !known.includes(name))).toEqual([])
    expect([settings.get('PORT'), ...all('EXPOSE')]).toEqual([port, port])
    expect(existsSync(join(projectRoot, JSON.parse(all('ENTRYPOINT')[0] ?? '').at(-1)))).toBe(true)
  })

  test('asks an address for its health that the gateway serves', async () => {
    const [path = ''] = /\/health\/\w+/.exec(all('HEALTHCHECK')[0] ?? '') ?? []
    expect((await fetch(gateway.url + path)).status).toBe(200)
  })
})

describe('deploy/compose.yaml', () => {
  const file = parseYaml(read('deploy/compose.yaml')) as unknown as Compose
  const { gateway: server, database } = file.services

  test('gives the gateway variables that exist, and passes on variables of the same name', () => {
    expect(Object.keys(server.environment).filter(name => !known.includes(name))).toEqual([])
    const passed = Object.entries(server.environment).flatMap(([name, value]) => {
      const [, from] = /^\$\{(\w+):-.+\}$/.exec(value) ?? []
      return from === undefined || from === name ? [] : [[name, from]]
    })
    expect(passed).toEqual([])
  })

  test('publishes the port of the gateway on this machine only', () => {
    expect(server.ports).toEqual([`127.0.0.1:${port}:${port}`])
    expect(database.ports).toBeUndefined()
  })

  test('names services, secrets and volumes that are declared', () => {
    const services = [server, database]
    const used = services.flatMap(({ secrets }) => secrets)
    expect(new Set(used)).toEqual(new Set(Object.keys(file.secrets)))
    const paths = services.flatMap(({ environment }) =>
      Object.entries(environment).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : [])),
    )
    expect(paths.sort()).toEqual(used.map(name => `/run/secrets/${name}`).sort())
    const volumes = services.flatMap(service => service.volumes.map(volume => volume.split(':')[0]))
    expect(volumes).toEqual(Object.keys(file.volumes))
    expect(Object.keys(server.depends_on ?? {})).toEqual(['database'])
    expect(existsSync(join(projectRoot, 'deploy', server.build?.context ?? '', 'Dockerfile'))).toBe(true)
  })

  test('runs the gateway without root, without capabilities, on a read-only file system', () => {
    expect(server).toMatchObject({ read_only: 'true', user: 'node', cap_drop: ['ALL'] })
  })
})

interface Service {
  readonly environment: Record<string, string>
  readonly secrets: string[]
  readonly volumes: string[]
  readonly ports?: string[]
  readonly depends_on?: Record<string, unknown>
  readonly build?: { readonly context: string }
}

interface Compose {
  readonly services: { readonly gateway: Service; readonly database: Service }
  readonly secrets: Record<string, unknown>
  readonly volumes: Record<string, unknown>
}

test('the secrets that docs/deploy.md makes for Compose are ones that live accepts', () => {
  const [, modes = ''] = /^chmod (\d+) secrets\/\*$/m.exec(read('docs/deploy.md')) ?? []
  // Live refuses a master key that every user may read.
  expect(modes).toMatch(/^\d\d0$/)
  expect(read('docs/deploy.md')).toMatch(/^sudo chown 1000 secrets\/database-url secrets\/master-key$/m)
})

describe('deploy/systemd/tollgate.service', () => {
  const lines = read('deploy/systemd/tollgate.service')
    .split('\n')
    .filter(line => !/^(#|$)/.test(line))
  const all = (key: string) =>
    lines.filter(line => line.startsWith(`${key}=`)).map(line => line.slice(key.length + 1))

  test('is made of sections and settings', () => {
    expect(lines.filter(line => line.startsWith('['))).toEqual(['[Unit]', '[Service]', '[Install]'])
    expect(lines.filter(line => !/^(\[\w+\]|\w+=.*)$/.test(line))).toEqual([])
  })

  test('starts a program that exists, with variables that exist', () => {
    const script =
      all('ExecStart')[0]
        ?.split(' ')
        .find(word => word.endsWith('.js')) ?? ''
    expect(existsSync(join(projectRoot, script))).toBe(true)
    expect(all('Environment').filter(pair => !known.includes(pair.split('=')[0] ?? ''))).toEqual([])
    expect(all('User')).toEqual(['tollgate'])
  })

  test('takes every right away that Node can do without', () => {
    for (const key of ['NoNewPrivileges', 'ProtectHome', 'PrivateTmp', 'PrivateDevices', 'LockPersonality'])
      expect([key, ...all(key)]).toEqual([key, 'yes'])
    expect([...all('ProtectSystem'), ...all('CapabilityBoundingSet')]).toEqual(['strict', ''])
    expect(all('MemoryDenyWriteExecute')).toEqual([])
  })
})

describe('deploy/nginx.conf', () => {
  const text = read('deploy/nginx.conf').replaceAll(/#.*$/gm, '')

  test('asks for HTTP/2 in the form that nginx of Debian 12 knows too', () => {
    expect(text).toMatch(/^ *listen 443 ssl http2;$/m)
    expect(text).not.toMatch(/^ *http2 /m)
  })

  test('is made of blocks that close and statements that end', () => {
    let depth = 0
    for (const line of text
      .split('\n')
      .map(each => each.trim())
      .filter(each => each !== '')) {
      expect(line).toMatch(/[;{}]$/)
      depth += line.endsWith('{') ? 1 : line === '}' ? -1 : 0
      expect(depth).toBeGreaterThanOrEqual(0)
    }
    expect(depth).toBe(0)
  })

  test('passes requests to the port of the gateway, and never twice', () => {
    const [, upstream] = /proxy_pass http:\/\/(\w+);/.exec(text) ?? []
    expect(text).toContain(`upstream ${upstream} {`)
    expect(text).toContain(`server 127.0.0.1:${port};`)
    expect(text).toContain('proxy_next_upstream off;')
    expect(text).toContain('proxy_set_header X-Forwarded-For $remote_addr;')
  })
})

describe('deploy/haproxy.cfg', () => {
  const text = read('deploy/haproxy.cfg').replaceAll(/^\s*#.*$/gm, '')
  const sections = text.split(/^(?=\S)/m).filter(section => section.trim() !== '')

  test('is made of sections, and the frontend names the backend', () => {
    const names = sections.map(section => section.split('\n')[0])
    expect(names).toEqual(['global', 'defaults', 'frontend public', 'backend tollgate'])
    expect(/default_backend (\w+)/.exec(text)?.[1]).toBe('tollgate')
  })

  test('passes requests to the port of the gateway, never twice, and asks for its health', async () => {
    expect(text).toContain(`127.0.0.1:${port} check`)
    expect(text).toMatch(/^ {4}retries 0$/m)
    const [, path = ''] = /http-check send meth GET uri (\S+)/.exec(text) ?? []
    expect((await fetch(gateway.url + path)).status).toBe(200)
  })
})

describe('high availability', () => {
  const patroni = parseYaml(read('deploy/ha/patroni.yaml')) as AnyJson
  const etcd = parseYaml(read('deploy/ha/etcd.yaml')) as AnyJson
  const haproxy = read('deploy/ha/haproxy-postgres.cfg')

  test('the standby is synchronous, so that a failover loses nothing', () => {
    expect(patroni.bootstrap.dcs).toMatchObject({ synchronous_mode: 'true', maximum_lag_on_failover: '0' })
    expect(patroni.bootstrap.dcs.postgresql.parameters.synchronous_commit).toBe('on')
    const { ttl, loop_wait: loop, retry_timeout: retry } = patroni.bootstrap.dcs
    expect(Number(ttl)).toBeGreaterThanOrEqual(Number(loop) + 2 * Number(retry))
  })

  test('the three files agree on addresses and ports', () => {
    expect(patroni.etcd3.hosts.split(',')).toContain(new URL(etcd['advertise-client-urls']).host)
    expect(etcd['initial-cluster'].split(',')).toHaveLength(3)
    expect(etcd['enable-grpc-gateway']).toBe('true')
    const [host, port] = patroni.postgresql.connect_address.split(':')
    const [, checkPort] = patroni.restapi.connect_address.split(':')
    expect(haproxy).toContain(`server ${patroni.name} ${host}:${port} check port ${checkPort}`)
  })

  test('the proxy asks for the primary and cuts connections to an old one', () => {
    expect(haproxy).toMatch(/meth OPTIONS uri \/primary/)
    expect(haproxy).toMatch(/on-marked-down shutdown-sessions/)
  })
})
