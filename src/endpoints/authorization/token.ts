/** POST /authorization/oauth/token: an API key for a short-lived access token. The logic is http/authentication/issue-token.ts. */

import type { Form, IssueToken } from '#http/authentication/issue-token.ts'
import { endpoint } from '#http/endpoint.ts'
import { Type } from '#schemas/parts/type.ts'

const TokenForm = Type.Object(
  {
    grant_type: Type.Enum(['client_credentials', 'payment_intents'], {
      description:
        '`client_credentials` for your own server, `payment_intents` for a mobile SDK and one intent.',
    }),
    client_id: Type.String({ minLength: 1, maxLength: 30, description: 'Your merchant id.' }),
    client_secret: Type.String({ minLength: 1, sensitive: true, description: 'Your API key.' }),
    payment_intent_id: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'With `payment_intents` only: the intent that the token opens.',
      }),
    ),
  },
  { title: 'TokenRequest', additionalProperties: false },
)

/** The contract: 4 KiB, because anybody may send this form; a filled-in one has about 200 bytes. */
const tokenBytesMax = 4_096

const AccessToken = Type.Object(
  {
    access_token: Type.String({ description: 'Send it as `Authorization: Bearer …`.' }),
    token_type: Type.Enum(['bearer']),
    expires_in: Type.Integer({
      description:
        'Lifetime in seconds: 3600, or 900 for one payment intent; less where the API key ends sooner.',
    }),
  },
  { title: 'AccessToken' },
)

export const token = endpoint<{ readonly issueToken: IssueToken }, typeof TokenForm>({
  verb: 'POST',
  scope: 'none',
  path: '/authorization/oauth/token',
  operationId: 'issueToken',
  summary: 'Get an access token',
  description:
    'Exchanges merchant id and API key, sent as a form, for a short-lived access token. The credentials go into the ' +
    'body, not into a header. Wrong credentials are refused for a minute after ten failures of one client from one ' +
    'address; successes never count.',
  tag: 'Authorization',
  version: '2.4.0',
  access: 'open',
  idempotent: false,
  dialect: 'token',
  accepts: 'application/x-www-form-urlencoded',
  bodyBytesMax: tokenBytesMax,
  body: TokenForm,
  answers: { 200: AccessToken },
  examples: [
    {
      summary: 'Token for your own server',
      body: { grant_type: 'client_credentials', client_id: '{merchantId}', client_secret: '{apiKey}' },
      status: 200,
      answer: {
        access_token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9…',
        token_type: 'bearer',
        expires_in: 3600,
      },
    },
  ],
  // The form is passed on unvalidated; issue-token.ts validates it and says why.
  handle: ({ body, address, traceId }, { issueToken }) => issueToken(body as Form, { address, traceId }),
})
