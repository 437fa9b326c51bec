import { testRandomRequests } from '../support/randomRequests.ts'
import { useService } from '../support/useService.ts'

testRandomRequests(useService(), { readsEach: 500, writes: 2_000 })
