/** A process of its own: fetches one page and then answers every request with the very same bytes and headers. */
import { gzipSync } from 'node:zlib'
import Fastify from 'fastify'

const [page = ''] = process.argv.slice(2)
const response = await fetch(page)
const body = gzipSync(await response.text(), { level: 1 })
const headers = Object.fromEntries(
  [...response.headers].filter(
    ([name]) => !['connection', 'keep-alive', 'date', 'content-length', 'content-encoding'].includes(name),
  ),
)
const app = Fastify()
app.get('/', (_, reply) => reply.headers({ ...headers, 'content-encoding': 'gzip' }).send(body))
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
