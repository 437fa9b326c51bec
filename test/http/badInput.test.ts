import { testOddRequests, testRandomRequests } from '../support/randomRequests.ts'
import { useService } from '../support/useService.ts'

const service = useService()

// badInput.slow.test.ts sends more of them, on both engines.
testRandomRequests(service, { readsEach: 100, writes: 500 })
testOddRequests()
