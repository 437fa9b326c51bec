import { after, before } from 'node:test'
import { startTestService, type TestService, type TestServiceOptions } from './service.ts'

/**
 * The service of all tests of a file or a suite: in this process, with a fresh database and a clock that the tests
 * move. It starts before the first test and is removed after the last. Only hooks and tests can use it.
 */
export function useService(env?: Record<string, string>, options?: TestServiceOptions): TestService {
  let service: TestService | undefined
  before(async () => {
    service = await startTestService(env, options)
  })
  after(() => service?.stop())
  return new Proxy({} as TestService, {
    get(_, name: keyof TestService) {
      if (!service) throw new Error(`The service has not started: use ${name} in a hook or a test.`)
      return service[name]
    },
  })
}
