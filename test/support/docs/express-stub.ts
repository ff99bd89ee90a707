/** As much of Express as the example in docs/webhooks.md uses: a route, the raw body, an answer. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

type Request = IncomingMessage & { body?: Buffer }
interface Answer {
  status(code: number): Answer
  end(): void
}
type Step = (request: Request, response: Answer, next: () => void) => unknown

function express() {
  const routes = new Map<string, readonly Step[]>()
  const run = async (steps: readonly Step[], request: Request, response: ServerResponse): Promise<void> => {
    const answer: Answer = {
      status(code) {
        response.statusCode = code
        return answer
      },
      end: () => void response.end(),
    }
    for (const step of steps) await step(request, answer, () => undefined)
  }
  return {
    post: (path: string, ...steps: Step[]) => void routes.set(path, steps),
    listen: (port: number) =>
      createServer(
        (request, response) => void run(routes.get(request.url ?? '') ?? [], request, response),
      ).listen(port),
  }
}

express.raw =
  ({ type }: { type: string }): Step =>
  async request => {
    if (request.headers['content-type'] === type) request.body = await buffer(request)
  }

export default express
