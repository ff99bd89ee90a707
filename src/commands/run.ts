/**
 * Runs the command that the command line names. A server does not load the other commands, which would stay in its
 * memory; a command does not load the server, whose workers and metrics would take an eighth of its time.
 */
import cluster from 'node:cluster'
import { describeFault, toExitCode } from '#commands/faults.ts'
import { config, showsStacks } from '#config.ts'
import { tellOperator } from '#output.ts'

/** Never throws: the error is printed on standard error, and the exit code is for the shell. */
export async function run(words: readonly string[]): Promise<number> {
  let say = (sentence: string): void => console.error(sentence)
  try {
    if (words.length === 0 || (words.length === 1 && words[0] === 'serve')) {
      const settings = config()
      // From here on output never waits for a reader, not even the message why the server ends.
      say = tellOperator
      const { serve } = await import('#commands/serve/serve.ts')
      await serve(settings)
    } else {
      const { runProgram } = await import('#commands/program.ts')
      await runProgram(words, config)
    }
    return 0
  } catch (error) {
    const sentence = describeFault(error, showsStacks())
    // A worker's primary prints the sentence, once for all of them.
    if (sentence !== undefined && cluster.isWorker) {
      const { reportFault } = await import('#commands/serve/cluster.ts')
      await reportFault(sentence)
    } else if (sentence !== undefined) say(sentence)
    return toExitCode(error)
  }
}
