/**
 * Writes the documents that are made from code: `npm run generate`. A test renders the same rows again and
 * fails when a checked-in file differs.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { buildDocument, renderClientTypes } from './client-types.ts'
import { renderMethodPage } from './method-page.ts'
import { renderCollection, renderHttpFile } from './request-collections.ts'
import { renderResponseCodePage } from './response-code-page.ts'

export interface GeneratedFile {
  /** Relative to the project's root. */
  readonly file: string
  readonly render: () => string
}

export const projectRoot: string = dirname(import.meta.dirname)

/** The address of a gateway started without settings: what a reader of the checked-in file will try first. */
const baseUrl = 'http://127.0.0.1:8080/api/v2'

export const generatedFiles: readonly GeneratedFile[] = [
  {
    file: 'docs/openapi.json',
    render: () => `${JSON.stringify(buildDocument(baseUrl), null, 2)}\n`,
  },
  {
    file: 'clients/typescript/src/generated.ts',
    render: () => renderClientTypes(buildDocument(baseUrl)),
  },
  {
    file: 'docs/requests/tollgate.http',
    render: () => renderHttpFile(buildDocument(baseUrl), baseUrl),
  },
  {
    file: 'docs/requests/tollgate.postman_collection.json',
    render: () => renderCollection(buildDocument(baseUrl), baseUrl),
  },
  { file: 'docs/methods.md', render: renderMethodPage },
  { file: 'docs/response-codes.md', render: renderResponseCodePage },
]

if (import.meta.main) {
  for (const { file, render } of generatedFiles) {
    const path = join(projectRoot, file)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, render())
    console.log(`wrote ${file}`)
  }
}
